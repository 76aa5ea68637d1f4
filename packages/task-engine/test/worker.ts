import { connectStore, createLocalBus } from '@wharf/service-kit';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { createTaskEngine, defineTaskKind } from '../src/index.ts';

// A worker as a process of its own, to be killed: counts from its checkpoint to `steps`, and says each step that is durable.
const [url = ''] = process.argv.slice(2);

const counting = defineTaskKind({
  name: 'counting',
  input: z.object({ steps: z.number() }),
  checkpoint: z.object({ step: z.number() }),
  maxRetries: 0,
  async run(run) {
    for (let step = (run.checkpoint?.step ?? 0) + 1; step <= run.input.steps; step += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      run.signal.throwIfAborted();
      await run.saveCheckpoint({ step });
      process.stdout.write(`step ${run.id} ${step} ${run.fence}\n`);
    }
  },
});

const engine = createTaskEngine({
  owner: 'fs',
  store: await connectStore(url),
  bus: createLocalBus(() => {}),
  logger: pino({ level: 'silent' }),
  metrics: new Registry(),
  kinds: [counting],
});
await engine.start();
process.stdout.write('ready\n');
process.on('SIGTERM', () => void engine.stop().then(() => process.exit(0)));
