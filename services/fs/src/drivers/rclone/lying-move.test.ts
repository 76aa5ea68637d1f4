import { buffer } from 'node:stream/consumers';
import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { at, put, refuses } from '../../driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { RcloneDriver } from './driver.ts';

interface Moved {
  readonly srcRemote: string;
  readonly dstRemote: string;
}

/** An rclone whose server says what it likes of a move. @param files their sizes, by place; of a folder -1. @param move what it does of one */
async function openRemote(files: Map<string, number>, move: (moved: Moved) => void): Promise<Required<StorageDriver>> {
  const entry = (place: string) => {
    const Size = files.get(place);
    return Size === undefined ? null : { Name: place.split('/').at(-1), IsDir: Size < 0, Size, ModTime: '2026-11-22T19:00:00Z' };
  };
  const answers: Record<string, (asked: { remote: string } & Moved) => object> = {
    'operations/fsinfo': () => ({ Features: { CanHaveEmptyDirectories: true, Move: true, PutStream: true } }),
    'operations/list': () => ({ list: [...files.keys()].map(entry) }),
    'operations/stat': ({ remote }) => ({ item: entry(remote) }),
    'operations/deletefile': ({ remote }) => ({ isGone: files.delete(remote) }),
    'operations/movefile': (asked) => ({ isMoved: move(asked) }),
  };
  const server = await startHttpServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://rcd');
    const body = await buffer(request);
    if (url.pathname === '/operations/uploadfile') {
      const [, name = ''] = /filename\*=UTF-8''(.*)\r\n/.exec(body.toString('latin1')) ?? [];
      const boundary = body.indexOf('\r\n');
      files.set(decodeURIComponent(name), body.byteLength - (body.indexOf('\r\n\r\n') + 4) - (boundary + 6));
    }
    const answer = answers[url.pathname.slice(1)]?.(JSON.parse(body.toString()));
    response.end(JSON.stringify(answer ?? {}));
  });
  const rclone = { url: server.url, authorization: 'x', ended: new AbortController().signal, kill: () => undefined };
  const settings = {
    places: { root: '', space: undefined },
    rootPath: '.',
    openWay: () => ({ remote: async () => ({ type: 'x', parameters: {} }), failure: undefined, close: () => undefined }),
    source: () => ({ hold: () => () => undefined, get: async () => rclone }),
  };
  const driver = await RcloneDriver.open(settings, plainContext({}, {}));
  onTestFinished(async () => {
    await driver.close();
    await server.stop();
  });
  return driver as StorageDriver as Required<StorageDriver>;
}

const rename = (files: Map<string, number>, { srcRemote, dstRemote }: Moved) => {
  files.set(dstRemote, files.get(srcRemote) ?? 0);
  files.delete(srcRemote);
};

it('a file that is replaced is there again where the server says that it moved the new one, and did not', async () => {
  const files = new Map([['file', 3]]);
  let lies = 0;
  const driver = await openRemote(files, (moved) => {
    if (moved.dstRemote !== 'file' || lies > 0) rename(files, moved);
    else lies += 1;
  });
  await refuses('STORAGE_UNAVAILABLE', put(driver, '/file', 'new content'));
  expect(lies).toBe(1);
  await expect.poll(() => [...files]).toEqual([['file', 3]]);
});

it('a file that is moved onto another one has its old name still where the server did nothing', async () => {
  const files = new Map([
    ['file', 3],
    ['other', 5],
  ]);
  let lies = 0;
  const driver = await openRemote(files, (moved) => {
    if (moved.dstRemote !== 'file' || lies > 0) rename(files, moved);
    else lies += 1;
  });
  await refuses('STORAGE_UNAVAILABLE', driver.rename(at('/other'), at('/file'), { overwrite: true }));
  expect(Object.fromEntries(files)).toEqual({ file: 3, other: 5 });
});

/** A server that loses a byte of what gets the name of a file that stepped aside. @param keeps it leaves the source where it was */
async function openLoser(files: Map<string, number>, keeps: boolean): Promise<Required<StorageDriver>> {
  let moves = 0;
  return openRemote(files, (moved) => {
    const size = files.get(moved.srcRemote) ?? 0;
    rename(files, moved);
    moves += 1;
    if (moves !== 2) return;
    files.set(moved.dstRemote, size - 1);
    if (keeps) files.set(moved.srcRemote, size);
  });
}

it.each([false, true])(
  'a file that is replaced is there again where the new one has lost a byte (and its source is there: %s)',
  async (keeps) => {
    const files = new Map([['file', 3]]);
    const driver = await openLoser(files, keeps);
    await refuses('STORAGE_UNAVAILABLE', put(driver, '/file', 'new content'));
    await expect.poll(() => [...files]).toEqual([['file', 3]]);
  },
);

it.each([false, true])(
  'what is left of a file that lost a byte as it was moved onto another one has its old name (whole: %s)',
  async (keeps) => {
    const files = new Map([
      ['file', 3],
      ['other', 5],
    ]);
    const driver = await openLoser(files, keeps);
    await refuses('STORAGE_UNAVAILABLE', driver.rename(at('/other'), at('/file'), { overwrite: true }));
    await expect.poll(() => Object.fromEntries(files)).toEqual({ file: 3, other: keeps ? 5 : 4 });
  },
);

it('a folder that is still there once it is said to be removed is not removed', async () => {
  const files = new Map([['folder', -1]]);
  const driver = await openRemote(files, () => undefined);
  await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/folder'), { recursive: true }));
});
