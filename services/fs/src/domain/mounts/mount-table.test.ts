import { describe, expect, it } from 'vitest';
import { countWork } from '../testing/count-work.ts';
import { vpath } from '../testing/memory-tree.ts';
import { storageRecord } from '../testing/records.ts';
import { createMountTable } from './mount-table.ts';

const day = (number: number) => new Date(Date.UTC(2024, 0, number));
/** A table whose mounts are the mount paths. */
const tableOf = (...mountPaths: string[]) =>
  createMountTable(
    mountPaths.map((mount_path, index) => storageRecord({ _id: index + 1, mount_path, order: index, modified: day(index + 1) })),
    (storage) => storage.mount_path,
  );

describe('a path', () => {
  const table = tableOf('/', '/a', '/a/b/c', '/ab');

  it.each([
    ['/', '/', '/'],
    ['/x/y', '/', '/x/y'],
    ['/a', '/a', '/'],
    ['/a/b', '/a', '/b'],
    ['/a/bc', '/a', '/bc'],
    ['/a/b/c', '/a/b/c', '/'],
    ['/a/b/c/d/e', '/a/b/c', '/d/e'],
    ['/a/b/cd', '/a', '/b/cd'],
    ['/ab/x', '/ab', '/x'],
    ['/abc', '/', '/abc'],
  ])('%s lies in %s at %s', (path, mount, inner) => {
    expect(table.locate(vpath(path))).toEqual({ mount, mountedAt: mount, path: inner });
  });

  it('lies nowhere when no storage covers it', () => {
    expect(tableOf('/a').locate(vpath('/b'))).toBeUndefined();
    expect(tableOf().isEmpty).toBe(true);
    expect(table.isEmpty).toBe(false);
  });
});

describe('storages at one place', () => {
  const table = tableOf('/g.balance1', '/g', '/g.balance/x', '/other');
  const mountOf = (path: string) => table.locate(vpath(path))?.mount;

  it('take turns, each path in the same circle', () => {
    expect([mountOf('/g'), mountOf('/g/x'), mountOf('/other'), mountOf('/g/y'), mountOf('/g')]).toEqual([
      '/g.balance1',
      '/g',
      '/other',
      '/g.balance/x',
      '/g.balance1',
    ]);
  });

  it('do not change within an operation', () => {
    const first = table.locate(vpath('/g/x'));
    expect(table.locate(vpath('/g/y/z'), first)).toEqual({ ...first, path: '/y/z' });
    expect(table.locate(vpath('/other/z'), first)).toMatchObject({ mount: '/other', path: '/z' });
  });

  it('lie at what stands before the last .balance', () => {
    expect(tableOf('/a.balance/b.balance2').locate(vpath('/a.balance/b/x'))).toMatchObject({ path: '/x' });
    expect(tableOf('/.balance').locate(vpath('/x'))).toMatchObject({ mountedAt: '/' });
  });

  it('make one folder', () => {
    expect(table.virtualFolders(vpath('/')).map(({ name }) => name)).toEqual(['g', 'other']);
  });
});

describe('folders that mounts make', () => {
  it('stand at and above every mount point, each once, by order and then by mount path', () => {
    const storages = [
      storageRecord({ _id: 1, mount_path: '/z/deep/er', order: 2, modified: day(1) }),
      storageRecord({ _id: 2, mount_path: '/b', order: 1, modified: day(2) }),
      storageRecord({ _id: 3, mount_path: '/a', order: 1, modified: day(3) }),
      storageRecord({ _id: 4, mount_path: '/z', order: 3, modified: day(4) }),
      storageRecord({ _id: 5, mount_path: '/', order: 0, modified: day(5) }),
    ];
    const table = createMountTable(storages, ({ _id }) => _id);
    expect(table.virtualFolders(vpath('/'))).toEqual([
      { name: 'a', modifiedAt: day(3) },
      { name: 'b', modifiedAt: day(2) },
      { name: 'z', modifiedAt: day(4) },
    ]);
    expect(table.virtualFolders(vpath('/z'))).toEqual([{ name: 'deep', modifiedAt: day(1) }]);
    expect(table.virtualFolders(vpath('/z/deep/er'))).toEqual([]);
    expect(table.findVirtualFolder(vpath('/z/deep'))).toEqual({ name: 'deep', modifiedAt: day(1) });
    expect(table.findVirtualFolder(vpath('/z/dee'))).toBeUndefined();
    expect(table.findVirtualFolder(vpath('/'))).toBeUndefined();
  });

  it('are protected, with the root and with nothing below a mount point', () => {
    const table = tableOf('/a/b', '/c');
    expect(['/', '/a', '/a/b', '/c'].map((path) => table.isProtected(vpath(path)))).toEqual([true, true, true, true]);
    expect(['/a/b/x', '/a/bb', '/d', '/a/x'].map((path) => table.isProtected(vpath(path)))).toEqual([false, false, false, false]);
  });
});

it('looks read a path once, however deep it is and whatever is mounted elsewhere', () => {
  const table = tableOf('/s/s', ...Array.from({ length: 1000 }, (_, index) => `/m${index}`));
  const small = tableOf('/s/s');
  const work = (asked: typeof table, segments: number) => {
    const path = vpath('/s'.repeat(segments));
    return countWork(() => [asked.locate(path), asked.isProtected(path), asked.isMountPoint(path)]);
  };
  expect(work(table, 1600)).toBeLessThan(4.4 * work(table, 400));
  expect(work(table, 400)).toBe(work(small, 400));
});
