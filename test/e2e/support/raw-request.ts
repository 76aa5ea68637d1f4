import { connect, type Socket } from 'node:net';

/**
 * Opens a connection and writes bytes on it exactly as given. `latin1` texts can hold bytes that no HTTP library lets through.
 *
 * @returns the open socket; the caller destroys it.
 */
export async function openRaw(base: string, head: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => undefined);
  await writeRaw(socket, Buffer.from(head, 'latin1'));
  return socket;
}

/** Resolves when the bytes were handed to the system. */
export function writeRaw(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())));
}

/** Sends bytes as a whole request and reads until the other side closes; the request should say `Connection: close`. */
export async function exchangeRaw(base: string, request: string | Buffer): Promise<{ status: number; head: string; body: string }> {
  const socket = await openRaw(base, '');
  try {
    await writeRaw(socket, typeof request === 'string' ? Buffer.from(request, 'latin1') : request);
    const chunks: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(20_000, () => reject(new Error('no answer within 20 s')));
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.once('close', () => resolve());
    });
    const text = Buffer.concat(chunks).toString('utf8');
    const [head = '', ...rest] = text.split('\r\n\r\n');
    return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') };
  } finally {
    socket.destroy();
  }
}
