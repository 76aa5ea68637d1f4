import { get, type IncomingMessage, request } from 'node:http';
import { authorization, filePath, rawPath } from './files.ts';
import type { World } from './world.ts';

/** A download whose reader takes no more than its first bytes. */
export interface StandingDownload {
  /** Resolves when its first bytes have come, or it has ended. */
  readonly begun: Promise<void>;
  leave(): void;
}

/** @param path of the content, as `rawPath` answers it. @param address of the client, as a proxy tells it: one has half of what a storage bears at once */
export function openDownload({ base }: Pick<World, 'base'>, path: string, address = '192.0.2.1'): StandingDownload {
  const asked = get(new URL(path, base), { agent: false, headers: { 'x-forwarded-for': address } });
  asked.on('error', () => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  asked.once('response', (response: IncomingMessage) => {
    response.on('error', () => undefined);
    response.once('readable', resolve);
  });
  asked.once('close', resolve);
  return { begun: promise, leave: () => void asked.destroy() };
}

/** Reads the first bytes of a file and goes away. */
export async function leaveDownload(world: World, path: string): Promise<void> {
  const download = openDownload(world, await rawPath(world.admin, path));
  await download.begun;
  download.leave();
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
