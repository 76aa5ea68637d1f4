import { appendFile } from 'node:fs/promises';
import { connectStore, createNatsBus } from '@wharf/service-kit';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createTaskEngine } from '../src/index.ts';
import { PLACES, writing } from './writing-kind.ts';

// Four workers in a process of its own. Each task that they run is a line in a file.
const [storeUrl = '', busUrl = '', file = ''] = process.argv.slice(2);

const engine = createTaskEngine({
  owner: 'fs',
  store: await connectStore(storeUrl),
  bus: createNatsBus(busUrl, 'queue-worker', () => {}),
  logger: pino({ level: 'warn' }, process.stderr),
  metrics: new Registry(),
  kinds: [writing((line) => appendFile(file, `${line}\n`))],
  concurrencyOf: async () => PLACES,
  shareOf: (places) => places,
});
await engine.start();
process.stdout.write('ready\n');
process.on('SIGTERM', () => void engine.stop().then(() => process.exit(0)));
