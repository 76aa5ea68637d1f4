import { readConfig } from './config.ts';
import { startEmbeddedNats } from './embedded-nats.ts';

const bus = await startEmbeddedNats(readConfig(process.argv.slice(2), process.env));
const stop = () => void bus.stop();
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
// A parent that started us with an IPC channel and is gone needs no bus.
process.once('disconnect', stop);
process.stdout.write(`ready ${bus.url}\n`);
