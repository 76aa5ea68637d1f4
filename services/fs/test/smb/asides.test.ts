import { chown, mkdir, readdir, readFile, rename } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { ensureCommand, isAvailable, isMissing, startHttpServer, startSamba } from '@wharf/harness';
import { currentOwner } from '@wharf/owned-names';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, codeOf, namesIn, put } from '../../src/driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../src/driver-contract/open-context.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { newAsideName } from '../../src/driver-contract/temp-names.ts';
import { smbConfigSchema, smbSettings } from '../../src/drivers/rclone/config.ts';
import { RcloneDriver } from '../../src/drivers/rclone/driver.ts';
import { rcd } from '../../src/drivers/rclone/rcd.ts';
import { smbStorage } from '../../src/drivers/rclone/smb.ts';

const rclone = await ensureCommand('rclone', 'rclone');
const server = await startSamba();
const LIMIT_MS = 60_000;
/** No process has this number. */
const ENDED = { ...currentOwner(), pid: 4_194_305 };

/** What becomes of the move with this number, from 1 on: rclone refuses it, or cannot be reached before or behind it. */
type Fates = Readonly<Record<number, 'refused' | 'away' | 'done and away'>>;

describe.runIf(isAvailable('rclone', rclone) && isAvailable('samba', server))('on SMB', { timeout: LIMIT_MS }, () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

  /** Stands before the rclone of this process. */
  async function startBefore(fates: Fates) {
    let moves = 0;
    const isMove = ({ url }: IncomingMessage) => url === '/sync/move' || url === '/operations/movefile';
    const pass = async (request: IncomingMessage, response: ServerResponse) => {
      if (isMove(request)) moves += 1;
      const fate = isMove(request) ? fates[moves] : undefined;
      if (fate === 'refused') return void response.writeHead(500).end('{"error":"access is denied"}');
      if (fate === 'away') return void response.destroy();
      const { url } = await rcd.get();
      const headers = { authorization: request.headers.authorization ?? '', 'content-type': request.headers['content-type'] ?? '' };
      const body = Buffer.concat(await request.toArray());
      const answer = await fetch(url + request.url, { method: request.method ?? 'POST', headers, ...(body.length > 0 && { body }) });
      const content = Buffer.from(await answer.arrayBuffer());
      if (fate === 'done and away') response.destroy();
      else response.writeHead(answer.status).end(content);
    };
    const proxy = await startHttpServer(pass);
    onTestFinished(() => proxy.stop());
    return { hold: () => rcd.hold(egress), get: async () => ({ ...(await rcd.get()), url: proxy.url }) };
  }

  async function madeFolder(name: string): Promise<string> {
    const folder = join(server && 'folder' in server ? server.folder : '', name);
    await mkdir(folder);
    await chown(folder, 59_999, 59_999);
    return folder;
  }

  async function opened(folder: string, fates: Fates = {}): Promise<Required<StorageDriver>> {
    if (isMissing(server)) throw new Error(server.missing);
    const { username, password, share } = server;
    const items = { address: `${server.host}:${server.port}`, username, password, share_name: share, root_folder_path: folder };
    const settings = smbStorage(smbSettings(smbConfigSchema.parse(items)));
    const source = await startBefore(fates);
    const driver = await RcloneDriver.open({ ...settings, source: () => source }, plainContext({}, { egress }));
    onTestFinished(() => driver.close());
    return driver as unknown as Required<StorageDriver>;
  }

  const asidesIn = async (folder: string) => (await readdir(folder)).filter((name) => name.startsWith('.wharf-tmp-aside-'));

  it('a folder whose letter case could not be changed nor changed back is there with its files once its process has ended', async () => {
    const folder = await madeFolder('respelled');
    await put(await opened('respelled'), '/Folder/file', 'content');
    const moved = await opened('respelled', { 2: 'refused', 3: 'refused' });
    expect(await codeOf(moved.rename(at('/Folder'), at('/FOLDER'), { overwrite: false }))).toBe('PERMISSION_DENIED');
    const [aside = ''] = await asidesIn(folder);
    expect(await readdir(join(folder, aside))).toEqual(['file']);
    await rename(join(folder, aside), join(folder, newAsideName(ENDED, 'Folder', Date.now()).name));
    const next = await opened('respelled');
    expect(await namesIn(next, '/')).toEqual(['Folder']);
    expect(await readFile(join(folder, 'Folder/file'), 'utf8')).toBe('content');
    expect(await asidesIn(folder)).toEqual([]);
  });

  it('a folder whose letter case could not be changed while rclone was away has its old name', async () => {
    const folder = await madeFolder('away');
    await put(await opened('away'), '/Folder/file', 'content');
    const moved = await opened('away', { 2: 'away', 3: 'away' });
    expect(await codeOf(moved.rename(at('/Folder'), at('/FOLDER'), { overwrite: false }))).toBe('STORAGE_UNAVAILABLE');
    expect(await readdir(folder)).toEqual(['Folder']);
    expect(await readFile(join(folder, 'Folder/file'), 'utf8')).toBe('content');
  });

  it.each<[string, Fates]>([
    ['the old one could step aside, or could not', { 1: 'done and away' }],
    ['the new one got its name', { 2: 'away', 3: 'away' }],
  ])('a replaced file is there when rclone is gone before %s', async (title, fates) => {
    const name = `replaced-${title.length}`;
    const folder = await madeFolder(name);
    await put(await opened(name), '/file', 'old');
    const driver = await opened(name, fates);
    const outcome = await codeOf(put(driver, '/file', 'new', { overwrite: true }));
    expect([await readdir(folder), await readFile(join(folder, 'file'), 'utf8')]).toEqual([['file'], outcome === 'done' ? 'new' : 'old']);
  });
});
