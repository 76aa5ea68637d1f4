import { access, chown, lstat, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ensureCommand, isAvailable, isMissing, startFtpServer, startSshServer } from '@wharf/harness';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { at, codeOf, namesIn, put, refuses, textOf } from '../../src/driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { opened } from '../../src/drivers/rclone/testing/type-suite.ts';

const program = await ensureCommand('rclone', 'rclone');
const ssh = await startSshServer();
const ftp = await startFtpServer({ software: 'vsftpd' });

/** A storage with a folder `mine`, and beside it `keep` and what is outside, each with a file. */
interface Linked {
  readonly driver: Required<StorageDriver>;
  readonly folder: string;
  readonly outside: string;
  /** Makes a link, which the user of the server owns as all else. */
  link(to: string, from: string): Promise<void>;
}

async function openBeside(base: string, uid: number, open: (root: string) => Promise<StorageDriver>): Promise<Linked> {
  const folder = await mkdtemp(path.join(base, 'storage-'));
  const outside = await mkdtemp(path.join(base, 'outside-'));
  for (const made of ['mine', 'mine/sub', 'keep', 'keep/deep']) await mkdir(path.join(folder, made));
  const files = ['mine/own', 'mine/sub/own', 'keep/file', 'keep/deep/file'].map((file) => path.join(folder, file));
  for (const file of [...files, path.join(outside, 'file')]) await writeFile(file, 'precious');
  for (const each of [folder, outside]) {
    await chown(each, uid, uid);
    for (const name of await readdir(each, { recursive: true })) await chown(path.join(each, name), uid, uid);
  }
  const driver = (await open(path.basename(folder))) as Required<StorageDriver>;
  onTestFinished(() => driver.close());
  return { driver, folder, outside, link: (to, from) => symlink(to, path.join(folder, from)) };
}

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

describe.runIf(isAvailable('rclone', program) && isAvailable('sshd', ssh))('links of the type sftp', () => {
  if (isMissing(program) || isMissing(ssh)) return;
  afterAll(() => ssh.stop());
  let one: Linked;
  beforeEach(async () => {
    one = await openBeside(ssh.folder, ssh.uid, (root) =>
      opened('sftp', { host: ssh.host, port: String(ssh.port), user: ssh.username }, { pass: ssh.password }, root),
    );
  });
  const precious = async () => {
    const files = [path.join(one.folder, 'keep/file'), path.join(one.folder, 'keep/deep/file'), path.join(one.outside, 'file')];
    return Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => 'gone')));
  };
  const ALL = ['precious', 'precious', 'precious'];

  it('are not listed, and nothing is read, written, made, moved or removed through them', async () => {
    const { driver, folder, outside, link } = one;
    await link('../keep', 'mine/in');
    await link(outside, 'mine/out');
    await link(path.join(outside, 'file'), 'mine/file');
    await link('..', 'mine/up');
    await link('nowhere', 'mine/dangling');
    expect((await namesIn(driver, '/mine')).toSorted()).toEqual(['own', 'sub']);
    for (const place of ['/mine/in', '/mine/out', '/mine/file', '/mine/up', '/mine/dangling']) {
      expect(await codeOf(driver.stat(at(place)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.remove(at(place), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.rename(at(place), at('/elsewhere'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
    }
    for (const place of ['/mine/in/file', '/mine/out/file', '/mine/file', '/mine/up/keep/file']) {
      expect(await codeOf(textOf(driver, place))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.remove(at(place), { recursive: false }))).toBe('ENTRY_NOT_FOUND');
      await refuses('ENTRY_EXISTS', put(driver, place, 'planted'));
      const moved = await codeOf(driver.rename(at('/mine/own'), at(place), { overwrite: true }));
      expect(moved).toBe(place === '/mine/file' ? 'ENTRY_EXISTS' : 'ENTRY_NOT_FOUND');
    }
    for (const place of ['/mine/in', '/mine/out', '/mine/up']) {
      expect(await codeOf(namesIn(driver, place))).toBe('ENTRY_NOT_FOUND');
      await refuses('ENTRY_EXISTS', driver.makeDirectory(at(place)));
      await refuses('ENTRY_EXISTS', driver.makeDirectory(at(`${place}/made`)));
      await refuses('ENTRY_EXISTS', put(driver, `${place}/planted`, 'planted'));
    }
    expect(await precious()).toEqual(ALL);
    expect(await readdir(outside)).toEqual(['file']);
    expect((await readdir(folder)).toSorted()).toEqual(['keep', 'mine']);
  });

  it('keep the folder that they are in, with what they lead to, and the removal says so', async () => {
    const { driver, folder, outside, link } = one;
    await link('..', 'mine/sub/up');
    await link('../../keep', 'mine/sub/in');
    await link(outside, 'mine/sub/out');
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/mine'), { recursive: true }));
    expect(await precious()).toEqual(ALL);
    expect((await lstat(path.join(folder, 'mine/sub/up'))).isSymbolicLink()).toBe(true);
    await driver.remove(at('/keep'), { recursive: true });
    expect(await readdir(folder)).toEqual(['mine']);
  });

  it('are in a folder that is not empty', async () => {
    const { driver, folder, link } = one;
    await driver.makeDirectory(at('/other'));
    await link('../keep', 'other/in');
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/other'), { recursive: false }));
    await refuses('DIRECTORY_NOT_EMPTY', driver.rename(at('/mine'), at('/other'), { overwrite: true }));
    expect(await readdir(path.join(folder, 'other'))).toEqual(['in']);
    expect(await isThere(path.join(folder, 'mine/own'))).toBe(true);
    expect(await precious()).toEqual(ALL);
  });
});

describe.runIf(isAvailable('rclone', program) && isAvailable('vsftpd', ftp))('links of the type ftp', () => {
  if (isMissing(program) || isMissing(ftp)) return;
  afterAll(() => ftp.stop());

  it('are files, and nothing is listed, read, written, made or removed through them', async () => {
    const { driver, folder, link } = await openBeside(ftp.folder, ftp.uid, (root) =>
      opened('ftp', { host: ftp.host, port: String(ftp.port), user: ftp.username }, { pass: ftp.password }, root),
    );
    await link('../keep', 'mine/in');
    await refuses('NOT_A_DIRECTORY', namesIn(driver, '/mine/in'));
    await refuses('ENTRY_NOT_FOUND', textOf(driver, '/mine/in/file'));
    await refuses('ENTRY_NOT_FOUND', driver.remove(at('/mine/in/file'), { recursive: false }));
    await refuses('NOT_A_DIRECTORY', put(driver, '/mine/in/planted', 'planted'));
    await refuses('NOT_A_DIRECTORY', driver.makeDirectory(at('/mine/in/made')));
    await driver.remove(at('/mine'), { recursive: true });
    expect((await readdir(folder, { recursive: true })).toSorted()).toEqual(['keep', 'keep/deep', 'keep/deep/file', 'keep/file']);
  });
});
