import { buffer } from 'node:stream/consumers';
import { startHttpServer } from '@wharf/harness';
import { collectGarbage } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { expect, it, onTestFinished } from 'vitest';
import { RcloneClient, type RemoteEntry } from './client.ts';
import { RemoteRoot } from './remote-root.ts';

const NAMES = 6_000;
const nameOf = (index: number) => `${index}-${'n'.repeat(240)}`;

it('how folders of many storages spell their names is kept in so many bytes of all of them together', async () => {
  const list = Array.from({ length: NAMES }, (_, index) => ({ Name: nameOf(index), IsDir: false, Size: 1, ModTime: '' }));
  const listing = Buffer.from(JSON.stringify({ list }));
  const server = await startHttpServer(async (request, response) => {
    const isStat = request.url === '/operations/stat';
    await buffer(request);
    response.end(isStat ? JSON.stringify({ item: list[0] }) : request.url === '/operations/list' ? listing : '{}');
  });
  onTestFinished(() => server.stop());
  const rclone = { url: server.url, authorization: 'x', ended: new AbortController().signal, kill: () => undefined };
  const way = { remote: async () => ({ type: 'smb', parameters: {} }), failure: undefined, close: () => undefined };
  const client = new RcloneClient(way, { hold: () => () => undefined, get: async () => rclone });
  onTestFinished(() => client.close());
  const roots = Array.from({ length: 20 }, () => {
    const root = new RemoteRoot(client, { root: 'share', space: undefined });
    root.learn({ caseSensitive: false, folds: true, isBucket: false, followsLinks: false });
    return root;
  });
  const path = `/${nameOf(0)}` as MountPath;
  await roots[0]?.find(path, {});
  collectGarbage('regular');
  const before = process.memoryUsage().heapUsed;
  for (const root of roots) expect(await root.find(path, {})).toMatchObject({ name: nameOf(0) });
  collectGarbage('regular');
  // All names of twenty folders take 36 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(18 * 1024 * 1024);
});

it.each([1, 2])('a walk lists a long folder not once more for each folder in it, nor for those %s levels below', async (levels) => {
  const asked: string[] = [];
  const folder = (name: string): RemoteEntry => ({ name, isFolder: true, sizeBytes: undefined, modifiedAt: new Date(0) });
  const names = Array.from({ length: 50 }, (_, index) => `d${index}`);
  const client = {
    async *list(place: string) {
      asked.push(place);
      yield* (place === 'root' ? names : ['e']).map(folder);
    },
    findFile: async () => undefined,
  } as unknown as RcloneClient;
  const root = new RemoteRoot(client, { root: 'root', space: undefined });
  root.learn({ caseSensitive: true, folds: false, isBucket: false, followsLinks: true });
  const below = levels === 1 ? '' : '/e';
  for (const name of names) expect(await root.isSpelled(`/${name}${below}` as MountPath, {})).toBe(true);
  expect(asked.filter((place) => place === 'root').length).toBeLessThan(5);
  expect(await root.isSpelled(`/none${below}` as MountPath, {})).toBe(false);
  root.forget();
  asked.length = 0;
  expect(await root.isSpelled(`/d0${below}` as MountPath, {})).toBe(true);
  expect(asked).toContain('root');
});

it('a folder that was made in another spelling in the same moment is not taken for one that is there', async () => {
  const listed: RemoteEntry = { name: 'Secret Folder', isFolder: true, sizeBytes: undefined, modifiedAt: new Date(0) };
  // The server says of both spellings that they are there.
  const client = {
    async *list(place: string) {
      if (place === 'root') yield listed;
    },
    find: async () => undefined,
    findFile: async () => undefined,
  } as unknown as RcloneClient;
  const root = new RemoteRoot(client, { root: 'root', space: undefined });
  root.learn({ caseSensitive: false, folds: true, isBucket: false, followsLinks: false });
  await expect(root.findMade('/SECRET~1' as MountPath, {})).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
  expect(root.isKnownFolder('/SECRET~1' as MountPath)).toBe(false);
  expect(await root.findMade('/Secret Folder' as MountPath, {})).toEqual(listed);
});
