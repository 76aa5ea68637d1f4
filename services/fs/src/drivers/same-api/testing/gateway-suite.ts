import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { countConnections, startFaultProxy, type Wharf, waitFor } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { at, codeOf, namesIn, put } from '../../../driver-contract/conformance/driver-calls.ts';
import { folderSide, standingFolder } from '../../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../../driver-contract/conformance/rule-end.suite.ts';
import type { StorageDriver } from '../../../driver-contract/storage-driver.ts';
import type { openListDriver } from '../index.ts';
import { testSurroundings } from './test-surroundings.ts';

interface Gateway {
  /** Whose files it shows, at `/local`. */
  readonly wharf: Pick<Wharf, 'filesDir'>;
  /** Where it is reached. */
  readonly url: string;
  readonly token: unknown;
  readonly definition: typeof openListDriver;
}

/** Storages for the suite on a gateway, each a folder of its own. */
export function storagesOn({ wharf, url, token, definition }: Gateway) {
  const port = Number(new URL(url).port);
  const standing = standingFolder(wharf.filesDir);
  const newFolder = async () => {
    const folder = await mkdtemp(path.join(wharf.filesDir, 'storage ä+'));
    atEnd(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const openIn = async (folder: string, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> => {
    const openAt = async (base: string, rest: Record<string, unknown> = {}) => {
      const items = { url: base, token, root_folder_path: `/local/${path.basename(folder)}`, ...rest };
      return around(await definition.open(JSON.stringify(items), testSurroundings()));
    };
    return {
      driver: await openAt(url),
      seed: folderSide(folder).seed,
      leftovers: async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-')),
      connections: () => countConnections(port),
      badLogin: { secret: 'another-secret', open: () => openAt(url, { token: 'another-secret' }) },
      web: {
        url,
        secrets: [String(token)],
        open: (at: string) => openAt(at),
        refuseLogin: (response: ServerResponse) =>
          void response.end(JSON.stringify({ code: 401, message: 'token is expired', data: null })),
      },
      async throughFaults() {
        const way = await startFaultProxy({ to: { host: '127.0.0.1', port } });
        return { driver: await openAt(`http://${way.host}:${way.port}`), way, keeps: 4 };
      },
    };
  };
  return (around: (driver: StorageDriver) => StorageDriver) => ({
    open: async () => openIn(await newFolder(), around),
    openStanding: async () => ({ ...(await openIn(await standing(), around)), isStanding: true as const }),
  });
}

/** A rule of its own: on any gateway, without what is around a driver. */
export function nothingCountsWhileAway({ wharf, url, token, definition }: Gateway): void {
  it('while the folder that is shown is away nothing counts as stored, made or removed', async () => {
    const folder = path.join(wharf.filesDir, 'away');
    await mkdir(folder);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(path.join(folder, 'file'), 'precious');
    const driver = await openAt('/local/away');
    await rename(folder, `${folder}-elsewhere`);
    await expectNothing(driver, '/file');
    await rename(`${folder}-elsewhere`, folder);
    expect(await namesIn(driver, '/')).toEqual(['file']);
    await put(driver, '/new', 'x', { sizeBytes: 1 });
    await driver.remove(at('/file'), { recursive: true });
    expect(await readdir(folder)).toEqual(['new']);
  });

  it.each(['/local', '/'])('neither does it while a storage of the gateway is away: shown is %s', async (shown) => {
    const above = shown === '/' ? '/local' : '';
    const driver = await openAt(shown);
    await put(driver, `${above}/kept/file`, 'precious', { sizeBytes: 8 });
    await rename(wharf.filesDir, `${wharf.filesDir}-elsewhere`);
    try {
      await expectNothing(driver, `${above}/kept/file`, above);
    } finally {
      await rename(`${wharf.filesDir}-elsewhere`, wharf.filesDir);
    }
    // For some seconds a gateway does not ask a storage again that was away.
    await waitFor('the storage', async () => (await codeOf(driver.stat(at(`${above}/kept/file`)))) === 'done', { withinMs: 30_000 });
    await driver.remove(at(`${above}/kept/file`), { recursive: true });
    await driver.remove(at(`${above}/kept`), { recursive: false });
    expect(await codeOf(driver.remove(at(`${above}/kept/file`), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
  });

  async function openAt(root_folder_path: string): Promise<Required<StorageDriver>> {
    const driver = await definition.open(JSON.stringify({ url, token, root_folder_path }), testSurroundings());
    onTestFinished(() => driver.close());
    return driver as Required<StorageDriver>;
  }

  async function expectNothing(driver: Required<StorageDriver>, file: string, above = ''): Promise<void> {
    for (const call of [
      () => put(driver, `${above}/new`, 'x', { sizeBytes: 1 }),
      () => put(driver, `${above}/deep/new`, 'x', { sizeBytes: 1 }),
      () => driver.makeDirectory(at(`${above}/made`)),
      () => driver.makeDirectory(at(`${above}/deep/made`)),
      () => driver.remove(at(file), { recursive: true }),
    ])
      expect(await codeOf(call())).toBe('STORAGE_UNAVAILABLE');
  }
}
