import { once } from 'node:events';
import { get, type IncomingMessage, request } from 'node:http';
import { authorization, filePath, rawPath } from './files.ts';
import type { World } from './world.ts';

/** A download whose first bytes have come, and whose reader takes no more. */
export interface StandingDownload {
  leave(): void;
}

/** @param address of the client, as a proxy tells it: one has half of what a storage bears at once */
export async function beginDownload({ admin, base }: World, path: string, address = '192.0.2.1'): Promise<StandingDownload> {
  const asked = get(new URL(await rawPath(admin, path), base), { agent: false, headers: { 'x-forwarded-for': address } });
  asked.on('error', () => undefined);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'readable');
  return { leave: () => void asked.destroy() };
}

/** Reads the first bytes of a file and goes away. */
export async function leaveDownload(world: World, path: string): Promise<void> {
  (await beginDownload(world, path)).leave();
}

/** Sends a part of a file and goes away. @param sizeBytes sent of twice as many that are announced */
export async function leaveUpload({ admin, base }: World, path: string, sizeBytes: number): Promise<void> {
  const headers = { ...authorization(admin), ...filePath(path), 'content-length': sizeBytes * 2 };
  const sending = request(new URL('/api/fs/put', base), { method: 'PUT', agent: false, headers });
  sending.on('error', () => undefined);
  await new Promise<void>((resolve) => {
    sending.write(Buffer.alloc(sizeBytes, 'x'), () => resolve());
    sending.once('close', resolve);
  });
  sending.destroy();
}
