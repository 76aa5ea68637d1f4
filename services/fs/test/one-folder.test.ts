import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, startRcloneDav, startSshServer, waitFor } from '@wharf/harness';
import type { Task } from '@wharf/proto/task';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { as, type FsProcess, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';
import { itemsOf } from './sftp/open-sftp.ts';

const LIMIT_MS = 60_000;
/** When files were changed, in seconds: the servers tell whole ones. */
const TIMES = { one: 1_600_000_000.123, two: 1_600_000_060.987 };
const NAMES = Object.keys(TIMES);

const ssh = await startSshServer();
const dav = await startRcloneDav();
afterAll(async () => {
  if (!isMissing(ssh)) await ssh.stop();
  if (!isMissing(dav)) await dav.stop();
});

interface Shown {
  readonly driver: string;
  readonly items: Record<string, unknown>;
  readonly folder: string;
}

const WAYS: readonly [string, boolean, () => Shown][] = [
  [
    'an SSH server',
    isAvailable('sshd', ssh),
    () => {
      if (isMissing(ssh)) throw new Error('there is no OpenSSH');
      return { driver: 'SFTP', items: { ...itemsOf(ssh), host_key: ssh.hostKeyFingerprint() }, folder: ssh.folder };
    },
  ],
  [
    'a WebDAV server',
    isAvailable('rclone', dav),
    () => {
      if (isMissing(dav)) throw new Error('there is no rclone');
      const { url, username, password, folder } = dav;
      return { driver: 'WebDav', items: { address: url, username, password, root_folder_path: '/' }, folder };
    },
  ],
];

for (const [name, isThere, shown] of WAYS)
  describe.runIf(isThere)(`a folder that ${name} and this machine show`, () => {
    let installation: Installation;
    let process: FsProcess;
    let folder: string;
    beforeAll(async () => {
      const { driver, items, ...way } = shown();
      folder = way.folder;
      installation = await openInstallation();
      await installation.login({ id: 1, permission: 0xffff });
      await installation.writeStorage({ _id: 1, mount_path: '/server', driver, addition: JSON.stringify(items) });
      await installation.writeStorage({ _id: 2, mount_path: '/disk', addition: JSON.stringify({ root_folder_path: folder }) });
      process = await startFsProcess(installation);
    }, LIMIT_MS);
    afterEach(async () => {
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
    });
    afterAll(async () => {
      await process?.stop();
      await installation?.close();
    });

    const putFiles = async () => {
      for (const [name, seconds] of Object.entries(TIMES)) {
        await writeFile(join(folder, name), name, { mode: 0o666 });
        await utimes(join(folder, name), seconds, seconds);
      }
    };
    /** Those of a list, when so many have ended. */
    const ended = async (list: string, count: number) => {
      const tasks = await waitFor('the end of the tasks', async () => {
        const found: Task[] = [];
        for await (const chunk of process.tasks.listTasks({ list, done: true, page: 1, per_page: 0 }, as())) found.push(...chunk.tasks);
        return found.length === count ? found : undefined;
      });
      await process.tasks.clearTasks({ list }, as());
      return tasks;
    };
    const expectWhole = async () => {
      for (const name of NAMES) expect(await readFile(join(folder, name), 'utf8')).toBe(name);
      expect((await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted()).toEqual(NAMES.toSorted());
    };
    const DIRECTIONS = [
      ['/server', '/disk'],
      ['/disk', '/server'],
    ] as const;

    it.each(DIRECTIONS)('keeps the files of a move from %s to %s that replaces', async (src_dir, dst_dir) => {
      await putFiles();
      const request = { src_dir, dst_dir, names: NAMES, overwrite: true, skip_existing: false, merge: false };
      await process.fs.moveEntries(request, as());
      for (const { error } of await ended('move', NAMES.length)) expect(error).toMatch(/may be one file; it stays/);
      await expectWhole();
    });

    it.each(DIRECTIONS)('keeps them where they are taken out of folders from %s to %s', async (src_dir, dst_dir) => {
      await putFiles();
      await process.fs.recursiveMove({ src_dir, dst_dir, conflict_policy: 'overwrite' }, as());
      for (const { error } of await ended('move', 1)) expect(error).toMatch(/may be one file; it stays/);
      await expectWhole();
    });

    it.each(DIRECTIONS)('keeps what is copied over itself from %s to %s', async (src_dir, dst_dir) => {
      await putFiles();
      const request = { src_dir, dst_dir, names: NAMES, overwrite: true, skip_existing: false, merge: false };
      await process.fs.copyEntries(request, as());
      for (const { error } of await ended('copy', NAMES.length)) expect(error).toBe('');
      await expectWhole();
    });
  });
