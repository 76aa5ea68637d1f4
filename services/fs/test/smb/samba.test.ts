import { appendFile, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { ensureCommand, isAvailable, isMissing, startFaultProxy, startSamba } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { at, collect, digest, namesIn, pattern, put, refuses, textOf } from '../../src/driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { smbDriver } from '../../src/drivers/rclone/index.ts';
import { rcd } from '../../src/drivers/rclone/rcd.ts';

const rclone = await ensureCommand('rclone', 'rclone');
const server = await startSamba();
/** What is written while the child is killed. */
const FILES = 60;
const KILLS = 3;
const PATIENCE = { timeout: 30_000, interval: 50 };

describe.runIf(isAvailable('rclone', rclone) && isAvailable('samba', server))('SMB', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());

  const egress = (allow: readonly string[] = []) => createEgress(createEgressPolicy({ allow, forbidden: [], audience: 'admin' }));
  const items = {
    address: `${server.host}:${server.port}`,
    username: server.username,
    password: server.password,
    share_name: server.share,
    root_folder_path: '.',
  };

  async function opened(changed: Partial<typeof items> = {}): Promise<Required<StorageDriver>> {
    const driver = await smbDriver.open(JSON.stringify({ ...items, ...changed }), { egress: egress() });
    onTestFinished(() => driver.close());
    return driver as Required<StorageDriver>;
  }

  async function madeFolder(name: string): Promise<string> {
    const folder = join(server && 'folder' in server ? server.folder : '', name);
    await mkdir(folder);
    await chown(folder, 59_999, 59_999);
    return folder;
  }

  it('says what is wrong with its items', async () => {
    await refuses('STORAGE_LOGIN_FAILED', opened({ password: 'another' }));
    await expect(opened({ share_name: 'another' })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining('share'),
    });
    await expect(opened({ root_folder_path: 'not/there' })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'root folder not/there not exists',
    });
    for (const share_name of ['a/b', '..', 'a\\b', 'a:b', '[a]']) await refuses('INVALID_ARGUMENT', opened({ share_name }));
    for (const root_folder_path of ['../etc', 'a/../../b']) {
      await expect(opened({ root_folder_path })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('goes nowhere the policy does not allow, by whatever name (C6)', async () => {
    for (const host of ['169.254.169.254', '[fe80::1]', '[::ffff:169.254.169.254]']) {
      await refuses('PERMISSION_DENIED', opened({ address: `${host}:445` }));
    }
    const own = createEgress(createEgressPolicy({ allow: [], forbidden: [{ host: '127.0.0.1', port: server.port }], audience: 'admin' }));
    await refuses('PERMISSION_DENIED', smbDriver.open(JSON.stringify(items), { egress: own }));
  });

  it('an entry is reached by its own spelling only, and a rename may change it', async () => {
    await madeFolder('spelled');
    const driver = await opened({ root_folder_path: 'spelled' });
    expect(driver.traits.caseSensitive).toBe(false);
    await put(driver, '/Folder/File', 'x');
    for (const path of ['/folder/File', '/Folder/file', '/FOLDER/FILE']) {
      await refuses('ENTRY_NOT_FOUND', driver.stat(at(path)));
      await refuses('ENTRY_NOT_FOUND', driver.read(at(path)));
      await refuses('ENTRY_NOT_FOUND', driver.remove(at(path), { recursive: false }));
      await refuses('ENTRY_EXISTS', put(driver, path, 'y', { overwrite: true }));
    }
    await refuses('ENTRY_NOT_FOUND', namesIn(driver, '/folder'));
    await refuses('ENTRY_EXISTS', driver.makeDirectory(at('/folder')));
    await driver.rename(at('/Folder/File'), at('/Folder/fILE'), { overwrite: false });
    await driver.rename(at('/Folder'), at('/fOLDER'), { overwrite: false });
    expect(await namesIn(driver, '/')).toEqual(['fOLDER']);
    expect(await textOf(driver, '/fOLDER/fILE')).toBe('x');
  });

  it('a new file costs the same beside many others: nothing lists their folder for it, also when the folder is not known any more', async () => {
    await madeFolder('many');
    const way = await startFaultProxy({ to: server });
    onTestFinished(() => way.stop());
    const driver = await opened({ root_folder_path: 'many', address: `${way.host}:${way.port}` });
    const costOf = async (name: string) => {
      // What was known of folders is forgotten with a removal.
      await put(driver, '/folder/gone', 'x');
      await driver.remove(at('/folder/gone'), { recursive: false });
      const before = way.bytesToClient();
      await put(driver, `/folder/${name}`, 'x');
      return way.bytesToClient() - before;
    };
    await costOf('first');
    const beside = await costOf('second');
    for (let index = 0; index < 300; index += 1)
      await writeFile(join(server.folder, 'many/folder', `one-of-many-with-a-long-name-${index}`), '');
    // A list of 300 such names has 60 kB.
    expect(await costOf('third')).toBeLessThan(beside + 10_000);
  });

  it('files that replace others in a row list their folder once, to see how they are spelled', async () => {
    await madeFolder('replaced');
    const way = await startFaultProxy({ to: server });
    onTestFinished(() => way.stop());
    const driver = await opened({ root_folder_path: 'replaced', address: `${way.host}:${way.port}` });
    for (let file = 0; file < 8; file += 1) await put(driver, `/${file}`, 'x', { sizeBytes: 1 });
    for (let index = 0; index < 600; index += 1)
      await writeFile(join(server.folder, 'replaced', `one-of-many-with-a-long-name-${index}`), '');
    const before = way.bytesToClient();
    await Promise.all(Array.from({ length: 8 }, (_, file) => put(driver, `/${file}`, 'yy', { sizeBytes: 2 })));
    const listed = way.bytesToClient() - before;
    const again = way.bytesToClient();
    await Promise.all(Array.from({ length: 8 }, (_, file) => put(driver, `/${file}`, 'zzz', { sizeBytes: 3 })));
    // A list of 600 such names has 120 kB.
    expect(Math.min(listed, way.bytesToClient() - again)).toBeLessThan(8 * 60_000);
    expect(await textOf(driver, '/7')).toBe('zzz');
    await refuses('ENTRY_EXISTS', put(driver, '/ONE-of-many-with-a-long-name-1', 'x', { sizeBytes: 1 }));
  });

  it('a large file is read ahead, whole, also while it grows, and whoever leaves it leaves it free', async () => {
    const folder = await madeFolder('ahead');
    const content = pattern(8_000_000);
    await writeFile(join(folder, 'file'), content);
    await chown(join(folder, 'file'), 59_999, 59_999);
    const way = await startFaultProxy({ to: server });
    onTestFinished(() => way.stop());
    const driver = await opened({ root_folder_path: 'ahead', address: `${way.host}:${way.port}` });
    await driver.stat(at('/file'));
    const before = way.questions();
    expect(digest(await collect(await driver.read(at('/file'))))).toBe(digest(content));
    // In pieces of 32 KiB there would be 245.
    expect(way.questions() - before).toBeLessThan(100);
    const grown: Uint8Array[] = [];
    for await (const piece of await driver.read(at('/file'))) {
      if (grown.length === 0) await appendFile(join(folder, 'file'), 'more');
      grown.push(Uint8Array.from(piece));
    }
    expect(digest(Buffer.concat(grown))).toBe(digest(content));
    for await (const _ of await driver.read(at('/file'))) break;
    await driver.remove(at('/file'), { recursive: false });
    expect(await namesIn(driver, '/')).toEqual([]);
  });

  it('a closed storage has no connection, also where a reader stands still', async () => {
    const folder = await madeFolder('closed');
    await writeFile(join(folder, 'file'), pattern(20_000_000));
    const driver = await smbDriver.open(JSON.stringify({ ...items, root_folder_path: 'closed' }), { egress: egress() });
    const content = (await driver.read(at('/file')))[Symbol.asyncIterator]();
    await content.next();
    await driver.close();
    await expect(content.next()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await vi.waitFor(async () => expect(await server.connections()).toBe(0), PATIENCE);
  });

  it('calls fail clearly while rclone is killed, go on, and leave nothing half written', async () => {
    const folder = await madeFolder('killed');
    const driver = await opened({ root_folder_path: 'killed' });
    const content = pattern(300_000);
    const outcomes = new Map<string, string>();
    const codes = new Set<string>();
    let done = 0;
    const write = async (name: string) => {
      for (;;) {
        try {
          await put(driver, `/${name}`, content, { overwrite: true });
          break;
        } catch (error) {
          codes.add((error as { code: string }).code);
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      outcomes.set(name, digest(await readFile(join(folder, name))));
      done += 1;
    };
    const names = Array.from({ length: FILES }, (_, index) => `file-${index}`);
    const writers = Array.from({ length: 4 }, async (_, lane) => {
      for (const name of names.filter((_name, index) => index % 4 === lane)) await write(name);
    });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await vi.waitFor(() => expect(done).toBeGreaterThanOrEqual((FILES / (KILLS + 1)) * (kill - 1) + 1), PATIENCE);
      const running = await vi.waitFor(() => rcd.get(), PATIENCE);
      running.kill();
      await vi.waitFor(() => expect(running.ended.aborted).toBe(true), PATIENCE);
    }
    await Promise.all(writers);
    expect([...codes].filter((code) => code !== 'STORAGE_UNAVAILABLE')).toEqual([]);
    expect(new Set(outcomes.values())).toEqual(new Set([digest(content)]));
    expect((await namesIn(driver, '/')).sort()).toEqual([...names].sort());
    for (const name of names) expect(digest(await collect(await driver.read(at(`/${name}`))))).toBe(digest(content));
    await vi.waitFor(async () => {
      await namesIn(driver, '/');
      expect((await readdir(folder)).filter((name) => name.includes('.wharf-tmp'))).toEqual([]);
    }, PATIENCE);
  });
});
