import { sendBody } from './send-body.ts';
import type { FromThread, ToThread } from './send-in-thread.ts';

/** Reads a part and sends it, and tells how it goes by the port that comes with it. */
addEventListener('message', ({ data, ports: [port] }: MessageEvent<ToThread>) => {
  if (port) void send(data, port);
});

async function send({ address, headers, part }: ToThread, port: MessagePort): Promise<void> {
  const tell = (message: FromThread) => port.postMessage(message);
  const left = new AbortController();
  port.addEventListener('message', () => left.abort());
  port.start();
  try {
    const body = await part.arrayBuffer();
    const onProgress = (sentBytes: number) => tell({ sentBytes });
    tell({ answer: await sendBody(address, headers, body, { signal: left.signal, onProgress }) });
  } catch (error) {
    tell({ error });
  }
}
