import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { httpRequest, isAvailable, isMissing, startSshServer, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { as, type FsProcess, headersAs, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';
import { itemsOf } from './sftp/open-sftp.ts';

const LIMIT_MS = 120_000;
const FILES = 40;
const ROUNDS = 8;

const ssh = await startSshServer();
afterAll(() => (isMissing(ssh) ? undefined : ssh.stop()));

const WAYS: readonly [string, boolean][] = [
  ['this machine', true],
  ['an SSH server', isAvailable('sshd', ssh)],
];

for (const [name, isThere] of WAYS)
  describe.runIf(isThere)(`a move from ${name}`, () => {
    let installation: Installation;
    let process: FsProcess;
    let source: string;
    let target: string;
    beforeAll(async () => {
      installation = await openInstallation();
      await installation.login({ id: 1, permission: 0xffff });
      [source, target] = [join(installation.dir, 'source'), join(installation.dir, 'target')];
      for (const folder of [source, target]) await mkdir(folder);
      if (name === 'this machine') {
        await installation.writeStorage({ _id: 1, mount_path: '/from', addition: JSON.stringify({ root_folder_path: source }) });
      } else if (!isMissing(ssh)) {
        const addition = JSON.stringify({ ...itemsOf(ssh), host_key: ssh.hostKeyFingerprint() });
        await installation.writeStorage({ _id: 1, mount_path: '/from', driver: 'SFTP', addition });
        source = ssh.folder;
      }
      await installation.writeStorage({ _id: 2, mount_path: '/to', addition: JSON.stringify({ root_folder_path: target }) });
      process = await startFsProcess(installation);
    }, LIMIT_MS);
    afterAll(async () => {
      await process?.stop();
      await installation?.close();
    });

    it(
      'loses nothing that is uploaded to its sources beside it',
      async () => {
        const missing: string[] = [];
        for (let round = 0; round < ROUNDS; round += 1) {
          const folder = `round-${round}`;
          await mkdir(join(source, folder));
          const names = Array.from({ length: FILES }, (_, index) => `file-${index}`);
          for (const each of names) await writeFile(join(source, folder, each), 'before');
          if (source !== join(installation.dir, 'source') && !isMissing(ssh)) await chown(join(source, folder), ssh.uid, ssh.uid);
          const request = { src_dir: '/from', dst_dir: '/to', names: [folder], overwrite: false, skip_existing: false, merge: false };
          const { tasks } = await process.fs.moveEntries(request, as());
          const [{ id } = { id: '' }] = tasks;
          const isEnded = async () => [2, 4, 7].includes((await process.task('move', id)).state);
          const stored = new Map<string, string>();
          const upload = async (each: string) => {
            for (let turn = 0; turn === 0 || !(await isEnded()); turn += 1) {
              const body = `upload ${turn} of ${each}`;
              const headers = { ...headersAs(), 'File-Path': `/from/${folder}/${each}`, Overwrite: 'true' };
              const answer = await httpRequest(process.url, { method: 'PUT', path: '/api/fs/put', headers, body });
              if (Reflect.get(Object(answer.json()), 'code') === 200) stored.set(each, body);
            }
          };
          await Promise.all(names.filter((_, index) => index % 2 === 0).map(upload));
          await waitFor('the end of the move', isEnded);
          for (const [each, body] of stored) {
            const texts = await Promise.all([source, target].map((root) => readFile(join(root, folder, each), 'utf8').catch(() => '')));
            if (!texts.includes(body)) missing.push(`${folder}/${each}`);
          }
          expect(stored.size).toBeGreaterThan(0);
        }
        expect(missing).toEqual([]);
      },
      LIMIT_MS,
    );
  });
