import { chmod, chown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, startSshServer, waitFor } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { bytesOf, mpath, textOf } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { itemsOf, openSftp } from './open-sftp.ts';
import { startPlainServer } from './plain-server.ts';

const LIMIT_MS = 30_000;
const server = await startSshServer({ without: ['posix-rename', 'hardlink'] });

describe('an SFTP server that renames to free names alone', { timeout: LIMIT_MS }, () => {
  const replaced = async (fate: Parameters<typeof startPlainServer>[0]['fate']) => {
    const { items, files } = await startPlainServer({ ...(fate && { fate }) });
    files.set('/root/file', 'old');
    const driver = await openSftp(items);
    return { driver, files, code: (await refusalOf(driver.write(mpath('/file'), bytesOf('new'), { overwrite: true })))[0] };
  };

  it('has the old file after a replacement that it refuses', async () => {
    let asked = 0;
    const { files, code } = await replaced((_from, to) => (to === '/root/file' && ++asked === 2 ? 'refused' : undefined));
    expect([code, [...files]]).toEqual(['FAILED_PRECONDITION', [['/root/file', 'old']]]);
  });

  it('has the old file after a replacement that it says it did, and did not', async () => {
    let asked = 0;
    const { files, code } = await replaced((_from, to) => (to === '/root/file' && ++asked === 2 ? 'pretended' : undefined));
    expect([code, [...files]]).toEqual(['STORAGE_UNAVAILABLE', [['/root/file', 'old']]]);
  });

  it.each(['cut', 'done and cut'] as const)('has the old file after a connection that broke when it stepped aside: %s', async (how) => {
    let asked = 0;
    const { files, code } = await replaced((from) => (from === '/root/file' && ++asked === 1 ? how : undefined));
    expect([code, files.get('/root/file')]).toEqual(['STORAGE_UNAVAILABLE', 'old']);
  });

  it('has the old file after a connection that broke when the new one was to get its name', async () => {
    let asked = 0;
    const { files, code } = await replaced((_from, to) => (to === '/root/file' && ++asked === 2 ? 'cut' : undefined));
    expect([code, files.get('/root/file')]).toEqual(['STORAGE_UNAVAILABLE', 'old']);
  });

  it('that moves a file aside late has what is there by then by its name before another is stored where nothing is', async () => {
    let aside = '';
    const { driver, files, code } = await replaced((from, to) => {
      if (from !== '/root/file' || aside !== '') return undefined;
      aside = to;
      return 'cut';
    });
    expect([code, files.get('/root/file')]).toEqual(['STORAGE_UNAVAILABLE', 'old']);
    files.set(aside, 'newer').delete('/root/file');
    expect((await refusalOf(driver.write(mpath('/file'), bytesOf('newest'), { overwrite: false })))[0]).toBe('ENTRY_EXISTS');
    expect(files.get('/root/file')).toBe('newer');
    expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(5);
  });

  it('keeps the old file where it refuses to give it its name again, under a name that says so', async () => {
    let asked = 0;
    const { files } = await replaced((_from, to) => (to === '/root/file' && ++asked > 1 ? 'refused' : undefined));
    expect([...files.values()].sort()).toEqual(['new', 'old']);
    expect([...files].find(([, content]) => content === 'old')?.[0]).toMatch(/\/\.wharf-tmp-aside-[\da-f-]+-file$/);
  });
});

it.each([
  { replaces: true, overwrite: true, old: 'old' },
  { replaces: true, overwrite: true, old: undefined },
  { replaces: true, overwrite: false, old: undefined },
  { replaces: false, overwrite: true, old: undefined },
  { replaces: false, overwrite: false, old: undefined },
])('a file is not stored where an SFTP server says that it gave it its name, and did not: %o', async ({ replaces, overwrite, old }) => {
  const fate = (from: string) => (from.includes('.wharf-tmp-') ? 'pretended' : undefined);
  const { items, files } = await startPlainServer({ replaces, fate });
  if (old !== undefined) files.set('/root/file', old);
  const driver = await openSftp(items);
  expect((await refusalOf(driver.write(mpath('/file'), bytesOf('new'), { overwrite })))[0]).toBe('STORAGE_UNAVAILABLE');
  await waitFor('what is left to go', () => files.size === (old === undefined ? 0 : 1));
  expect([...files]).toEqual(old === undefined ? [] : [['/root/file', old]]);
});

it('an SFTP server that makes no second names has no empty file left by a connection that broke before the file had its name', async () => {
  const { items, files } = await startPlainServer({ replaces: true, fate: (_from, to) => (to === '/root/file' ? 'cut' : undefined) });
  const driver = await openSftp(items);
  expect((await refusalOf(driver.write(mpath('/file'), bytesOf('new'), { overwrite: false })))[0]).toBe('STORAGE_UNAVAILABLE');
  await expect.poll(() => [...files]).toEqual([]);
});

describe.runIf(isAvailable('sshd', server))('OpenSSH without its extensions for names', { timeout: LIMIT_MS }, () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());

  it('replaces files, of any length of their name, and links', async () => {
    const driver = await openSftp(itemsOf(server));
    const long = `/${'長い名前'.repeat(15)}`;
    for (const path of ['/file', long]) {
      await driver.write(mpath(path), bytesOf('old'), { overwrite: false });
      await driver.write(mpath(path), bytesOf('new'), { overwrite: true });
      expect(await textOf(await driver.read(mpath(path)))).toBe('new');
    }
    await driver.rename(mpath(long), mpath('/file'), { overwrite: true });
    await driver.rename(mpath('/file'), mpath(long), { overwrite: false });
    expect((await Array.fromAsync(driver.list(mpath('/')))).map(({ name }) => name)).toEqual([long.slice(1)]);
  });

  it('lets a folder whose removal begins lie beside where it was, where nobody may write to the root', async () => {
    const driver = await openSftp(itemsOf(server));
    for (const path of ['/own/d/e/f', '/own/g']) await driver.write(mpath(path), bytesOf('old'), { overwrite: false });
    await closeToOthers(server.folder);
    const own = join(server.folder, 'own');
    const [begun] = await driver.beginRemoval([mpath('/own/d')]);
    expect(begun).toMatch(/^\.wharf-tmp-doomed-/);
    expect((await Array.fromAsync(driver.list(mpath('/own')))).map(({ name }) => name)).toEqual(['g']);
    await driver.write(mpath('/own/d/new'), bytesOf('new'), { overwrite: false });
    await driver.remove(mpath('/own/d'), { recursive: true, begun: String(begun) });
    expect((await readdir(own, { recursive: true })).sort()).toEqual(['d', 'd/new', 'g']);
    // Where it lay elsewhere nobody can say that it is gone.
    const inside = await openSftp({ ...itemsOf(server), root_folder_path: join(server.rootPath, 'own') });
    expect((await refusalOf(inside.remove(mpath('/d'), { recursive: true, begun: String(begun) })))[0]).toBe('FAILED_PRECONDITION');
    // Where it may lie nowhere it is as it was.
    await closeToOthers(own);
    expect((await driver.beginRemoval([mpath('/own/d')]))[0]).toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
    expect((await readdir(own, { recursive: true })).sort()).toEqual(['d', 'd/new', 'g']);
  });
});

/** Until the test ends. */
async function closeToOthers(folder: string): Promise<void> {
  const { uid, gid, mode } = await stat(folder);
  onTestFinished(async () => {
    await chown(folder, uid, gid);
    await chmod(folder, mode);
  });
  await chown(folder, 0, 0);
  await chmod(folder, 0o755);
}
