import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { AppError, type ErrorCode } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { type MountPath, parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { expect, onTestFinished } from 'vitest';
import { collect } from '../../src/driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { localDriver } from '../../src/drivers/local/index.ts';

/** All optional operations that a local folder has. */
export type LocalStorage = StorageDriver & Required<Omit<StorageDriver, 'link'>>;

/** An empty folder with two in it: `root` for a storage and `outside` for what it must not reach. Gone after the test. */
export async function makeFolders(): Promise<{ base: string; root: string; outside: string }> {
  const temp = await makeTempDir('local');
  onTestFinished(() => temp.remove());
  const [root, outside] = [path.join(temp.path, 'root'), path.join(temp.path, 'outside')];
  await mkdir(root);
  await mkdir(outside);
  return { base: temp.path, root, outside };
}

/** Opens a folder as a storage, closed after the test. Hidden entries are shown unless `items` say otherwise. */
export async function openLocal(root: string, items: Record<string, unknown> = {}): Promise<LocalStorage> {
  const driver = await localDriver.open(JSON.stringify({ root_folder_path: root, show_hidden: true, ...items }));
  onTestFinished(() => driver.close());
  return driver as LocalStorage;
}

export function at(text: string): MountPath {
  return relativeTo(VIRTUAL_ROOT, parseVirtualPath(text));
}

export async function put(driver: LocalStorage, file: string, content: string | Uint8Array, overwrite = true) {
  const chunks = (async function* () {
    yield typeof content === 'string' ? Buffer.from(content) : content;
  })();
  return driver.write(at(file), chunks, { overwrite });
}

export async function textOf(driver: LocalStorage, file: string): Promise<string> {
  return (await collect(await driver.read(at(file)))).toString();
}

export async function namesIn(driver: LocalStorage, folder: string): Promise<string[]> {
  return (await Array.fromAsync(driver.list(at(folder)))).map((entry) => entry.name);
}

export async function codeOf(call: Promise<unknown>): Promise<ErrorCode | 'done'> {
  try {
    await call;
    return 'done';
  } catch (error) {
    return AppError.from(error).code;
  }
}

/** Names of temporary files and folders anywhere below, straight from the disk. */
export async function debrisIn(root: string): Promise<string[]> {
  return (await readdir(root, { recursive: true })).filter((name) => name.includes('.wharf-tmp'));
}

/** The names that are in a folder of the disk, where no temporary files are left. */
export async function settledNames(root: string): Promise<string[]> {
  expect(await debrisIn(root)).toEqual([]);
  return (await readdir(root)).sort();
}
