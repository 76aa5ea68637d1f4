import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startProcess, waitFor } from '@wharf/harness';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import { expect, it, onTestFinished, vi } from 'vitest';
import { isAbandoned, newBesideName } from '../../src/driver-contract/temp-names.ts';
import { ConfinedRoot } from '../../src/drivers/local/confined-root.ts';
import { TempArea } from '../../src/drivers/local/temp-area.ts';
import { debrisIn, makeFolders, namesIn, openLocal, put } from './open-local.ts';

/** Opens the folder and writes to /old and to /d/new without an end, from a process of its own. */
async function startWriter(root: string, { isReaped = true } = {}) {
  const program = `
    const { localDriver } = await import(${JSON.stringify(new URL('../../src/drivers/local/index.ts', import.meta.url).href)});
    const driver = await localDriver.open(${JSON.stringify(JSON.stringify({ root_folder_path: root }))});
    const endless = async function* () {
      for (;;) {
        yield Buffer.alloc(300_000, 1);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    const writes = ['/old', '/d/new'].map((file) => driver.write(file, endless(), { overwrite: true }));
    console.log('writing', process.pid);
    await Promise.all(writes);`;
  const words = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  // A shell that becomes a program which waits for no child.
  const [command = '', ...args] = isReaped ? words : ['/bin/sh', '-c', '"$@" & exec sleep 600', 'sh', ...words];
  const writer = await startProcess({
    name: 'writer',
    ...{ command, args },
    ready: { line: (line) => (line.startsWith('writing ') ? Number(line.slice('writing '.length)) : undefined) },
  });
  onTestFinished(async () => {
    await writer.kill();
  });
  await waitFor('two temporary files', async () => (await debrisIn(root)).length === 3);
  return writer;
}

it('what a killed process was writing is removed when the storage is opened again, and the old file is whole', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  await writeFile(path.join(root, 'old'), 'old content');
  const writer = await startWriter(root);
  expect(await readdir(path.join(root, '.wharf-tmp'))).toHaveLength(2);
  await writer.kill('SIGKILL');
  expect(await debrisIn(root)).toHaveLength(3);
  const driver = await openLocal(root);
  expect(await debrisIn(root)).toEqual([]);
  expect(await namesIn(driver, '/')).toEqual(['d', 'old']);
  expect(await namesIn(driver, '/d')).toEqual([]);
  expect(await readFile(path.join(root, 'old'), 'utf8')).toBe('old content');
});

it('what a living process is writing stays, whoever opens the storage or writes beside it', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const writer = await startWriter(root);
  const before = await readdir(path.join(root, '.wharf-tmp'));
  const driver = await openLocal(root);
  await put(driver, '/mine', 'x');
  expect((await readdir(path.join(root, '.wharf-tmp'))).sort()).toEqual(before.sort());
  expect(await namesIn(driver, '/')).toEqual(['d', 'mine']);
  await writer.kill();
});

it('a process that was killed has ended, also while nobody has asked how', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const writer = await startWriter(root, { isReaped: false });
  process.kill(writer.ready, 'SIGKILL');
  await waitFor('a zombie', async () => / Z /.test(await readFile(`/proc/${writer.ready}/stat`, 'utf8')));
  await openLocal(root);
  expect(await debrisIn(root)).toEqual([]);
});

it('what a process that was about to end leaves is removed within a minute', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const writer = await startWriter(root);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  await openLocal(root);
  expect(await readdir(path.join(root, '.wharf-tmp'))).toHaveLength(2);
  await writer.kill();
  vi.advanceTimersByTime(60_000);
  vi.useRealTimers();
  await waitFor('an empty folder', async () => (await debrisIn(root)).length === 0);
});

it('cleaning up that fails ends nothing, and is to be tried again', async () => {
  const { root } = await makeFolders();
  const temp = new TempArea(new ConfinedRoot(root));
  expect(await temp.sweep()).toBe(true);
  await rm(root, { recursive: true });
  expect(await temp.sweep()).toBe(false);
});

it('a temporary file belongs to a process that has ended, to one that lives, or to another host', () => {
  const self = currentOwner();
  const [now, hour] = [Date.now(), 60 * 60 * 1000];
  const mine = newOwnedName(self);
  expect(isAbandoned(mine, 0, self, now)).toBe(false);
  expect(isAbandoned(newBesideName(self), 0, self, now)).toBe(false);
  expect(isAbandoned(newOwnedName({ ...self, start: '0123456789ab' }), now, self, now)).toBe(true);
  expect(isAbandoned(newOwnedName({ ...self, pid: 2 ** 22 + 1 }), now, self, now)).toBe(true);
  const elsewhere = newOwnedName({ ...self, host: '0123456789ab', pid: 2 ** 22 + 1 });
  expect(isAbandoned(elsewhere, now - 23 * hour, self, now)).toBe(false);
  expect(isAbandoned(elsewhere, now - 25 * hour, self, now)).toBe(true);
  for (const foreign of ['file', '.wharf-tmp-x', `${mine}x`, 'a-1-b-c']) expect(isAbandoned(foreign, 0, self, now)).toBe(false);
});
