import { readProcessConfig } from './config.ts';
import { startEmbeddedNats } from './embedded-nats.ts';

const bus = await startEmbeddedNats(readProcessConfig());
const stop = async () => {
  await bus.stop();
  // An open channel to whoever started us would keep us alive.
  if (process.connected) process.disconnect();
};
// A parent that started us with an IPC channel and is gone needs no bus.
for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(event, () => void stop());
process.stdout.write(`ready ${bus.url}\n`);
