import { waitFor } from '@wharf/harness';
import type { ListEntriesResponse } from '@wharf/proto/fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { passThrough } from '../src/domain/testing/pass-through.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { aliasDriver } from '../src/drivers/alias/index.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let one: Replica;
let two: Replica;
/** Keeps listings for half an hour. */
const cached = createTestDriver('Cached', ['listNames', 'statMany']);
const late = createTestDriver('Late');
const dry = createTestDriver('Dry', ['makeDirectory', 'write']);
/** Its files have addresses of their own. */
const direct = createTestDriver('Direct', [], { only_proxy: false });
let last = 0;

beforeAll(async () => {
  installation = await openInstallation();
  direct.linkBy((path) => ({ url: `https://s3.example${path}` }));
  one = await installation.open([cached.definition, passThrough, late.definition, dry.definition, direct.definition, aliasDriver]);
  two = await installation.open([cached.definition, passThrough]);
});
afterAll(() => installation?.close());

async function names(from: Replica, path: string, admin = 0): Promise<string[]> {
  const messages: ListEntriesResponse[] = [];
  for await (const message of from.fs.listEntries({ path }, installation.as(ADMIN, { admin }))) messages.push(message);
  return messages.flatMap(({ entries }) => entries.map(({ name }) => name)).sort();
}
const store = async (name: string) => cached.storeOf(name).write(mpath('/d/first'), bytesOf('first'), { overwrite: true });
const writeInner = (_id: number, name: string, rest = {}) =>
  installation.writeStorage({ _id, mount_path: `/${name}`, driver: 'Cached', addition: JSON.stringify({ store: name }), ...rest });
const writeOuter = (_id: number, name: string, path: string, other_names = false) =>
  installation.writeStorage({ _id, mount_path: `/${name}`, driver: 'PassThrough', addition: JSON.stringify({ path, other_names }) });
const make = (path: string) => one.fs.makeDirectory({ path }, installation.as(USER));
const statusOf = (id: number) => one.reports.filter((report) => report.id === id).at(-1)?.status ?? '';
/** The status once the storage was opened with what is configured now. */
async function statusAt(id: number, admin: number): Promise<string> {
  await one.fs.getEntry({ path: '/nowhere' }, installation.as(ADMIN, { admin })).catch(() => undefined);
  return (await one.fs.reloadStorage({ id }, { ...installation.as({ kind: 'service', name: 'admin' }, { admin }) })).status;
}

/** A storage, one that shows its folder, and one that shows that. */
async function mountThree(otherNames: boolean) {
  const id = 10 * ++last;
  await store(`i${id}`);
  await writeInner(id, `i${id}`);
  await writeOuter(id + 1, `m${id}`, `/i${id}/d`, otherNames);
  const revision = await writeOuter(id + 2, `o${id}`, `/m${id}`, otherNames);
  const paths = { inner: `/i${id}/d`, middle: `/m${id}`, outer: `/o${id}` };
  for (const replica of [one, two])
    for (const path of Object.values(paths)) expect(await names(replica, path, revision)).toEqual(['first']);
  return { ...paths, id };
}

describe.each([false, true])('a storage that stands on another (with other names: %s)', (otherNames) => {
  it('shows at once what is changed below, and below what is changed through it', async () => {
    const { inner, middle, outer } = await mountThree(otherNames);
    const expected = ['first'];
    for (const through of [inner, middle, outer]) {
      expected.push(`through ${through.slice(1, 2)}`);
      expected.sort();
      await make(`${through}/through ${through.slice(1, 2)}`);
      for (const path of [inner, middle, outer]) expect(await names(one, path)).toEqual(expected);
      for (const path of [inner, middle, outer])
        await waitFor('the event', async () => (await names(two, path)).join() === expected.join());
    }
  });
});

describe('a storage that stands on another', () => {
  it('reads and writes through it, and renames and removes', async () => {
    const { inner, outer } = await mountThree(false);
    await one.fs.renameEntry({ path: `${outer}/first`, name: 'second' }, installation.as(USER));
    expect(await names(one, inner)).toEqual(['second']);
    await one.fs.removeEntries({ dir: outer, names: ['second'] }, installation.as({ ...USER, permission: 0xffff }));
    expect(await names(one, inner)).toEqual([]);
  });

  it('says what is missing when that goes away, and works again when it is back', async () => {
    const { id, outer, inner } = await mountThree(false);
    const gone = await writeInner(id, `i${id}`, { disabled: true });
    await expect(names(one, outer, gone)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await waitFor('the status', async () => statusOf(id + 2) === `the storage at /m${id} does not work: no storage is mounted at ${inner}`);
    expect(statusOf(id + 1)).toBe(`no storage is mounted at ${inner}`);
    const back = await writeInner(id, `i${id}`);
    expect(await names(one, outer, back)).toEqual(['first']);
  });

  it('takes what a storage takes that could not be opened when it was', async () => {
    let isAway = true;
    late.onOpen(async () => {
      if (isAway) throw storageError('STORAGE_UNAVAILABLE');
    });
    const id = 10 * ++last;
    await installation.writeStorage({ _id: id, mount_path: '/dry', driver: 'Dry' });
    await installation.writeStorage({ _id: id + 1, mount_path: '/late', driver: 'Late' });
    const addition = JSON.stringify({ paths: '/dry\n/late', write_conflict_policy: 'first' });
    const opened = await installation.writeStorage({ _id: id + 2, mount_path: '/both', driver: 'Alias', addition });
    expect(await names(one, '/both', opened)).toEqual(['dry', 'late']);
    await expect(make('/both/late/made')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    isAway = false;
    const again = await installation.writeStorage({ _id: id + 1, mount_path: '/late', driver: 'Late', modified: new Date() });
    expect(await names(one, '/both', again)).toEqual(['dry', 'late']);
    await waitFor('it to take folders', () =>
      make('/both/late/made').then(
        () => true,
        () => false,
      ),
    );
    await one.fs.renameEntry({ path: '/both/late/made', name: 'named' }, installation.as(USER));
    expect(await names(one, '/late')).toEqual(['named']);
  });

  it('shows another storage that takes the place of the one below', async () => {
    const { id, outer, inner } = await mountThree(false);
    await cached.storeOf(`other${id}`).write(mpath('/of another'), bytesOf('x'), { overwrite: true });
    const deeper = await installation.writeStorage({
      _id: id + 5,
      mount_path: inner,
      driver: 'Cached',
      addition: JSON.stringify({ store: `other${id}` }),
    });
    expect(await names(one, outer, deeper)).toEqual(['of another']);
  });

  it('sends nobody to where files are once the one below does so no more, also where another replica was told of that', async () => {
    const id = 10 * ++last;
    await direct.storeOf().write(mpath('/file'), bytesOf('x'), { overwrite: true });
    const below = { _id: id, mount_path: `/d${id}`, driver: 'Direct' };
    await installation.writeStorage(below);
    for (const [name, path] of [
      ['a', 'd'],
      ['b', 'a'],
    ] as const)
      await installation.writeStorage({
        _id: id + (name === 'a' ? 1 : 2),
        mount_path: `/${name}${id}`,
        driver: 'Alias',
        addition: JSON.stringify({ paths: `/${path}${id}` }),
      });
    for (const web_proxy of [false, true, false]) {
      const admin = await installation.writeStorage({ ...below, web_proxy });
      for (const name of ['a', 'b']) {
        const { raw_url } = await one.fs.getEntry({ path: `/${name}${id}/file` }, installation.as(USER, { admin }));
        expect([name, web_proxy, raw_url.startsWith('https://s3.example/')]).toEqual([name, web_proxy, !web_proxy]);
      }
    }
  });

  it('does not stand on itself, whatever the way', async () => {
    const id = 10 * ++last;
    const itself = await writeOuter(id, `s${id}`, `/s${id}/d`);
    expect(await statusAt(id, itself)).toBe(`the storage stands on itself: /s${id} -> /s${id}`);

    const [a, b, c] = [`a${id}`, `b${id}`, `c${id}`];
    await store(`i${id}`);
    await writeInner(id + 1, `i${id}`);
    await writeOuter(id + 2, a, `/${b}`);
    await writeOuter(id + 3, b, `/${c}`);
    const fine = await writeOuter(id + 4, c, `/i${id}/d`);
    expect(await names(one, `/${a}`, fine)).toEqual(['first']);
    const circle = await writeOuter(id + 4, c, `/${a}/sub`);
    await expect(names(one, `/${a}`, circle)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    const statuses = await Promise.all([id + 2, id + 3, id + 4].map((each) => statusAt(each, circle)));
    for (const status of statuses) expect(status).toContain('the storage stands on itself: ');
    const mended = await writeOuter(id + 4, c, `/i${id}/d`);
    expect(await names(one, `/${a}`, mended)).toEqual(['first']);
  });

  it('is tried with the same refusals', async () => {
    const { id } = await mountThree(false);
    const tried = (request: object) =>
      one.fs.testStorage({ id: 0, driver: '', write: false, ...request }, installation.as(ADMIN)).then(({ error }) => error);
    expect(await tried({ id: id + 1 })).toBe('');
    expect(await tried({ id: id + 1, addition: JSON.stringify({ path: `/o${id}` }) })).toContain('the storage stands on itself: ');
    expect(await tried({ id: id + 1, addition: JSON.stringify({ path: '/nowhere at all' }) })).toBe(
      'no storage is mounted at /nowhere at all',
    );
  });
});
