import { isAvailable, startNatsServer } from '@wharf/harness';
import { describeBus } from './bus.suite.ts';

const server = await startNatsServer();

if (isAvailable('nats-server', server)) {
  describeBus({
    name: 'nats-server',
    start: async () => server,
    knownDifferences: {
      'nobody may publish to a wildcard or a malformed subject':
        'it checks the subjects of messages of pedantic clients only; such a message reaches those who subscribed to > or to just that',
    },
  });
}
