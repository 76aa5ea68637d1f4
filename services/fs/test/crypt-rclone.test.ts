import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureCommand, isAvailable, makeTempDir, runCommand } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished } from 'vitest';
import { at, collect, pattern, put } from '../src/driver-contract/conformance/driver-calls.ts';
import { inFolder } from '../src/driver-contract/in-folder.ts';
import type { StorageDriver } from '../src/driver-contract/storage-driver.ts';
import { walkTree } from '../src/driver-contract/walk-tree.ts';
import { cryptDriver } from '../src/drivers/crypt/index.ts';
import { localDriver } from '../src/drivers/local/index.ts';

const rclone = await ensureCommand('rclone', 'rclone');

const FILES: ReadonlyMap<string, Uint8Array> = new Map([
  ...[0, 1, 65_535, 65_536, 65_537, 131_072, 200_000].map((size) => [`size ${size}`, pattern(size)] as const),
  // The signs U+2400 to U+241F, which rclone has as control characters on a disk, are not among what these become.
  ...[1, 15, 16, 17, 143].map((length) => ['m'.repeat(length), Buffer.from('x')] as const),
  ...['café', '日本語😀', 'a!b!', 'UPPER lower 09', 'x-v2022-03-04-050607-089.txt', '\u00ff\u00a0~', '\ud7ff', '.dot'].map(
    (name) => [name, Buffer.from(name)] as const,
  ),
  ['dir one/deep/file.txt', Buffer.from('deep')],
]);

const COMBINATIONS = ['off', 'standard', 'obfuscate'].flatMap((mode) =>
  ['true', 'false'].flatMap((folders) => ['base32', 'base64', 'base32768'].map((encoding) => [mode, folders, encoding] as const)),
);

describe.runIf(isAvailable('rclone', rclone))('crypt and rclone', () => {
  it.each(COMBINATIONS)('names %s, of folders %s, in %s: each reads what the other wrote', async (mode, folders, encoding) => {
    const { path: root, remove } = await makeTempDir();
    onTestFinished(remove);
    for (const [name, content] of FILES) {
      await mkdir(dirname(join(root, 'plain', name)), { recursive: true });
      await writeFile(join(root, 'plain', name), content);
    }
    const run = (...args: string[]) => runCommand('rclone', ['--config', join(root, 'rclone.conf'), ...args]);
    const password = (await run('obscure', 'pass wörd')).stdout.trim();
    const section = (name: string) => `[${name}]
type = crypt
remote = ${join(root, name)}
filename_encryption = ${mode}
directory_name_encryption = ${folders}
filename_encoding = ${encoding}
password = ${password}
`;
    await writeFile(join(root, 'rclone.conf'), section('ours') + section('theirs'));
    const open = async (name: string) => {
      await mkdir(join(root, name), { recursive: true });
      const inner = await localDriver.open(JSON.stringify({ root_folder_path: join(root, name), show_hidden: true }));
      const names = {
        filename_encryption: mode,
        directory_name_encryption: folders,
        filename_encoding: encoding,
        encrypted_suffix: '.bin',
      };
      const addition = { ...names, remote_path: '/inner', password: `___Obfuscated___${password}`, show_hidden: true };
      const driver = await cryptDriver.open(JSON.stringify(addition), {
        openMount: async () => inFolder(inner, MOUNT_ROOT, () => undefined),
      });
      onTestFinished(() => Promise.all([driver.close(), inner.close()]).then(() => undefined));
      return driver as Required<StorageDriver>;
    };

    const ours = await open('ours');
    for (const [name, content] of FILES) await put(ours, `/${name}`, content);
    const checked = await run('check', '--download', join(root, 'plain'), 'ours:');
    expect(checked.stderr).toContain(`${FILES.size} matching files`);
    expect(checked.stderr).toContain('0 differences found');

    expect((await run('copy', join(root, 'plain'), 'theirs:')).stderr).toBe('');
    const theirs = await open('theirs');
    const seen: string[] = [];
    for await (const { path, entry } of walkTree(theirs, MOUNT_ROOT)) {
      if (entry.isDirectory) continue;
      seen.push(path.slice(1));
      const content = FILES.get(path.slice(1));
      expect(entry.sizeBytes).toBe(content?.byteLength);
      expect((await collect(await theirs.read(at(path)))).equals(content ?? Buffer.from('none'))).toBe(true);
    }
    expect(seen.sort()).toEqual([...FILES.keys()].sort());
  });
});
