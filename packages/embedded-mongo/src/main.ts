import { parseArgs } from 'node:util';
import { startEmbeddedMongo } from './start-embedded-mongo.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { 'data-dir': text, port: text, 'copy-as': text, 'kept-for': text } });
const dataDir = values['data-dir'];
if (dataDir === undefined) {
  console.error('usage: node main.ts --data-dir DIR [--port PORT] [--copy-as NAME] [--kept-for COLLECTION,...]');
  process.exit(2);
}
// It may be a file on the very disk that is full: what the thread of the store tells of that is lost then, and nothing ends over it.
process.stderr.on('error', () => undefined);
const listen = values.port === undefined ? 'socket' : { host: '127.0.0.1' as const, port: Number(values.port) };
try {
  const store = await startEmbeddedMongo({ dataDir, listen, copyAs: values['copy-as'], keptFor: values['kept-for']?.split(',') ?? [] });
  process.stdout.write(`ready ${store.url}\n`);
  // An open channel to whoever started us would keep us alive.
  const leave = () => {
    if (process.connected) process.disconnect();
  };
  const stop = async () => {
    await store.stop();
    leave();
  };
  // A parent that started us with an IPC channel and is gone needs no store.
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(event, () => void stop());
  void store.failed.then((error) => {
    console.error(error.message, error.cause ?? '');
    process.exitCode = 1;
    leave();
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
