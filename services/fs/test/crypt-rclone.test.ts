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
import { deriveKeys } from '../src/drivers/crypt/keys.ts';
import { createNames } from '../src/drivers/crypt/names.ts';
import { localDriver } from '../src/drivers/local/index.ts';

const rclone = await ensureCommand('rclone', 'rclone');

const AT_ONCE = 16;
const PASSWORD = 'pass wörd';
/** What these become in base32768 may have signs that rclone takes for control characters on a disk. */
const shortNames = createNames(await deriveKeys(PASSWORD, ''), {
  ...{ mode: 'standard', encryptsFolders: true, encoding: 'base32768', suffix: '.bin' },
});
const isKeptByRclone = (name: string) => !/[\u2400-\u241f]/.test(shortNames.ofFile(name) ?? '');

/** A name of so many bytes. */
function nameOf(length: number): string {
  const found = [...'mnopqrstuvwxyz'].map((letter) => letter.repeat(length)).find(isKeptByRclone);
  if (found === undefined) throw new Error(`no name of ${length} bytes can be kept`);
  return found;
}

const EVERY_LENGTH = Array.from({ length: 143 }, (_, index) => index + 1);
/** Around the edges of blocks, where every length is tried in another combination: names of files have nothing to do with how folders are called. */
const SOME_LENGTHS = [1, 15, 16, 17, 143];

const filesWith = (lengths: readonly number[]): ReadonlyMap<string, Uint8Array> =>
  new Map([
    ...[0, 1, 65_535, 65_536, 65_537, 131_072, 200_000].map((size) => [`size ${size}`, pattern(size)] as const),
    ...lengths.map((length) => [nameOf(length), Buffer.of(length)] as const),
    ...['café', '日本語😀', 'a!b!', 'UPPER lower 09', 'x-v2022-03-04-050607-089.txt', '\u00ff\u00a0~', '\ud7ff', '.dot'].map(
      (name) => [name, Buffer.from(name)] as const,
    ),
    ['dir one/deep/file.txt', Buffer.from('deep')],
  ]);

const COMBINATIONS = ['off', 'standard', 'obfuscate'].flatMap((mode) =>
  ['true', 'false'].flatMap((folders) => ['base32', 'base64', 'base32768'].map((encoding) => [mode, folders, encoding] as const)),
);

/** Some at a time. */
async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < items.length; from += AT_ONCE) await Promise.all(items.slice(from, from + AT_ONCE).map(work));
}

describe.runIf(isAvailable('rclone', rclone))('crypt and rclone', () => {
  it.each(COMBINATIONS)('names %s, of folders %s, in %s: each reads what the other wrote', async (mode, folders, encoding) => {
    const hasOwnNames = folders === 'true' && (mode === 'standard' || encoding === 'base32');
    const files = filesWith(hasOwnNames ? EVERY_LENGTH : SOME_LENGTHS);
    const { path: root, remove } = await makeTempDir();
    onTestFinished(remove);
    for (const [name, content] of files) {
      await mkdir(dirname(join(root, 'plain', name)), { recursive: true });
      await writeFile(join(root, 'plain', name), content);
    }
    const run = (...args: string[]) => runCommand('rclone', ['--config', join(root, 'rclone.conf'), ...args]);
    const password = (await run('obscure', PASSWORD)).stdout.trim();
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
    await inTurns([...files], ([name, content]) => put(ours, `/${name}`, content));
    const checked = await run('check', '--download', join(root, 'plain'), 'ours:');
    expect(checked.stderr).toContain(`${files.size} matching files`);
    expect(checked.stderr).toContain('0 differences found');

    expect((await run('copy', join(root, 'plain'), 'theirs:')).stderr).toBe('');
    const theirs = await open('theirs');
    const seen: string[] = [];
    for await (const { path, entry } of walkTree(theirs, MOUNT_ROOT)) {
      if (entry.isDirectory) continue;
      seen.push(path.slice(1));
      const content = files.get(path.slice(1));
      expect(entry.sizeBytes).toBe(content?.byteLength);
      expect((await collect(await theirs.read(at(path)))).equals(content ?? Buffer.from('none'))).toBe(true);
    }
    expect(seen.sort()).toEqual([...files.keys()].sort());
  });
});
