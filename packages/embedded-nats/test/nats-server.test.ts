import { ensureCommand, isAvailable, isMissing, startNatsServer } from '@wharf/harness';
import { describeBus } from './bus.suite.ts';

if (isAvailable('nats-server', await ensureCommand('nats-server', 'nats-server')))
  describeBus({
    name: 'nats-server',
    async start() {
      const server = await startNatsServer();
      if (isMissing(server)) throw new Error(server.missing);
      return server;
    },
    knownDifferences: {
      'nobody may publish to a wildcard or a malformed subject':
        'it checks the subjects of messages of pedantic clients only; such a message reaches those who subscribed to > or to just that',
    },
  });
