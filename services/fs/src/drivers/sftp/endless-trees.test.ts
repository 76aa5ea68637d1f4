import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { refusalOf } from '../../domain/testing/refusal.ts';
import { textElsewhere } from './carried-links.ts';
import type { RemoteAttrs, RemoteName, SftpSession } from './client.ts';
import { RefusedRequest, STATUS } from './errors.ts';
import { removeTree } from './remove-tree.ts';
import { SpelledNames } from './spelled-names.ts';

const LIMIT_MS = 60_000;
const MIB = 1024 * 1024;
const PAGE = 2_000;
const attrsOf = (kind: RemoteAttrs['kind']): RemoteAttrs => ({ kind, sizeBytes: 0, mode: 0, uid: 0, accessedAt: 0, modifiedAt: 0 });
const FOLDER = attrsOf('folder');
const LINK = attrsOf('link');
const { signal } = new AbortController();

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
/** What is held now, in MiB. */
function heldMib(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
}

/** Text that shares its memory with no other one. */
const longText = (length: number, index: number) => Buffer.alloc(length, `${index} `).toString('latin1');

/** A session of a server that says so much. @param page of the names of a folder; undefined at the end */
function sessionOf(page: (place: string, asked: number) => RemoteName[] | undefined, changed: Partial<SftpSession> = {}): SftpSession {
  const open = new Map<Buffer, { readonly place: string; asked: number }>();
  const session: Partial<SftpSession> = {
    async openFolder(place) {
      const handle = Buffer.from(place);
      open.set(handle, { place, asked: 0 });
      return handle;
    },
    async readFolder(handle) {
      const folder = open.get(handle);
      if (folder === undefined) return undefined;
      folder.asked += 1;
      return page(folder.place, folder.asked - 1);
    },
    close: async (handle) => void open.delete(handle),
    removeFolder: async () => {},
    removeFile: async () => {},
    realpath: async (path) => path,
    stat: async () => attrsOf('folder'),
    ...changed,
  };
  return session as SftpSession;
}

it('a removal holds little of folders in folders without end', { timeout: LIMIT_MS }, async () => {
  const [levels, pages] = [8, 100];
  const restMib = heldMib();
  let grownMib = 0;
  const session = sessionOf((place, asked) => {
    const depth = place.split('/').length - 2;
    if (depth === levels) {
      grownMib = heldMib() - restMib;
      throw new Error('deep enough');
    }
    return asked < pages ? Array.from({ length: PAGE }, (_, index) => ({ name: `d${asked * PAGE + index}`, attrs: FOLDER })) : undefined;
  });
  await expect(removeTree(session, '/x', { signal })).rejects.toThrow('deep enough');
  // All names of eight levels are 1.6 million.
  expect(grownMib).toBeLessThan(30);
});

it('a folder with more folders than a removal holds at once is removed all the same', { timeout: LIMIT_MS }, async () => {
  const left = new Set(Array.from({ length: 70_000 }, (_, index) => `/x/folder-${index}`));
  let looks = 0;
  const names: string[] = [];
  const session = sessionOf(
    (place, asked) => {
      if (place !== '/x') return undefined;
      if (asked === 0) {
        looks += 1;
        names.splice(0, names.length, ...left);
      }
      const page = names.slice(asked * PAGE, (asked + 1) * PAGE);
      return page.length === 0 ? undefined : page.map((each) => ({ name: each.slice('/x/'.length), attrs: FOLDER }));
    },
    { removeFolder: async (place) => void (place === '/x' ? left.add('gone') : left.delete(place)) },
  );
  await removeTree(session, '/x', { signal });
  expect([[...left], looks > 1 && looks < 5]).toEqual([['gone'], true]);
});

it('what waits of a folder that has gone while it was listed takes no room of others', { timeout: LIMIT_MS }, async () => {
  const looks = new Map<string, number>();
  const inGone = 70_000;
  const left = new Set(Array.from({ length: 1_000 }, (_, index) => `folder-${index}`));
  const pageOf = (names: readonly string[]) => names.map((name) => ({ name, attrs: FOLDER }));
  const session = sessionOf(
    (place, asked) => {
      if (asked === 0) looks.set(place, (looks.get(place) ?? 0) + 1);
      if (place === '/x') return asked === 0 ? pageOf(['gone', 'other']) : undefined;
      if (place === '/x/other') return asked === 0 && left.size > 0 ? pageOf([...left]) : undefined;
      if (place !== '/x/gone') return undefined;
      if (asked * PAGE >= inGone) throw new RefusedRequest(STATUS.NO_SUCH_FILE, 'gone');
      return pageOf(Array.from({ length: PAGE }, (_, index) => `d${asked * PAGE + index}`));
    },
    { removeFolder: async (place) => void left.delete(place.slice('/x/other/'.length)) },
  );
  await removeTree(session, '/x', { signal });
  expect([looks.get('/x/other'), left.size]).toEqual([1, 0]);
});

it('a folder of many long paths is moved as it is: only those that wait are counted', { timeout: LIMIT_MS }, async () => {
  const name = (index: number) => ({ name: `${'n'.repeat(200)}${index}`, attrs: FOLDER });
  const session = sessionOf((place, asked) => {
    const depth = place.split('/').length - 3;
    if (depth === 0) return asked < 7 ? Array.from({ length: PAGE }, (_, index) => name(asked * PAGE + index)) : undefined;
    return asked === 0 && depth < 4 ? [{ name: 'd', attrs: FOLDER }] : undefined;
  });
  // Those of one level are 3 million characters, all of them 12.
  expect(await textElsewhere(session, FOLDER, '/a/x', '/b/x', signal)).toBeUndefined();
});

it('a folder is moved without holding what the links in it say', { timeout: LIMIT_MS }, async () => {
  const count = 400;
  const restMib = heldMib();
  let grownMib = 0;
  let read = 0;
  const session = sessionOf(
    (_place, asked) => (asked === 0 ? Array.from({ length: count }, (_, index) => ({ name: `link-${index}`, attrs: LINK })) : undefined),
    {
      async readLink() {
        read += 1;
        if (read === count) grownMib = heldMib() - restMib;
        return `/${longText(256 * 1024, read)}`;
      },
    },
  );
  expect(await textElsewhere(session, FOLDER, '/a/x', '/b/x', signal)).toBeUndefined();
  // They are 100 MiB.
  expect([read, grownMib < 20]).toEqual([count, true]);
});

it('a folder whose folders have endless paths is not moved as it is', { timeout: LIMIT_MS }, async () => {
  let asked = 0;
  const session = sessionOf((place, page) => {
    asked += 1;
    if (place.length < 3_000) return page === 0 ? [{ name: 'n'.repeat(255), attrs: FOLDER }] : undefined;
    return Array.from({ length: PAGE }, (_, index) => ({ name: `n${page * PAGE + index}`, attrs: FOLDER }));
  });
  expect((await refusalOf(textElsewhere(session, FOLDER, '/a/x', '/b/x', signal)))[0]).toBe('UNSUPPORTED_OPERATION');
  // Names alone would be 50 pages.
  expect(asked).toBeLessThan(30);
});

it('a folder of a server that folds names is read once where it has many names', { timeout: LIMIT_MS }, async () => {
  const [names, pages] = [new SpelledNames(), 20];
  let looks = 0;
  const session = sessionOf((_place, asked) => {
    if (asked === 0) looks += 1;
    return asked < pages
      ? Array.from({ length: PAGE }, (_, index) => ({ name: `a name of a file ${asked * PAGE + index}`, attrs: LINK }))
      : undefined;
  });
  session.stat = async () => ({ ...FOLDER, modifiedAt: 1 });
  for (const index of [7, 39_999]) expect(await names.has(session, '/x', `a name of a file ${index}`)).toBe(true);
  expect(looks).toBe(1);
});

it('a server that folds names has us hold few of those in a folder', { timeout: LIMIT_MS }, async () => {
  const names = new SpelledNames();
  const pages = 50;
  const restMib = heldMib();
  let grownMib = 0;
  const session = sessionOf((_place, asked) => {
    if (asked < pages) return Array.from({ length: 10 }, (_, index) => ({ name: longText(200_000, asked * 10 + index), attrs: FOLDER }));
    grownMib = heldMib() - restMib;
    return asked === pages ? [{ name: 'own', attrs: FOLDER }] : undefined;
  });
  expect([await names.has(session, '/x', 'own'), await names.has(session, '/x', 'Own')]).toEqual([true, false]);
  // They are 100 MiB.
  expect(grownMib).toBeLessThan(20);
});
