import { chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { ensureCommand, isAvailable, isMissing, startFaultProxy, startSamba } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, namesIn, put, refuses, textOf } from '../../src/driver-contract/conformance/driver-calls.ts';
import { decorate } from '../../src/driver-contract/decorate.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { smbDriver } from '../../src/drivers/rclone/index.ts';

const rclone = await ensureCommand('rclone', 'rclone');
const server = await startSamba({ hasShortNames: true });
const LONG = 'Secret Folder';
/** What is there, and a name that the server takes for it and lists nowhere: by its letters, and the short one. */
const NAMES = [
  ['Νόμος', 'Νόμοσ'],
  [LONG, shortName(LONG)],
] as const;

describe.runIf(isAvailable('rclone', rclone) && isAvailable('samba', server))('on Samba as it comes', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

  const { host, port, username, password, share, folder: root, uid } = server;

  async function opened(address = `${host}:${port}`): Promise<{ driver: Required<StorageDriver>; folder: string }> {
    const folder = await mkdtemp(join(root, 'storage-'));
    await chown(folder, uid, uid);
    const items = { address, username, password, share_name: share, root_folder_path: basename(folder) };
    const driver = await smbDriver.open(JSON.stringify(items), { egress });
    onTestFinished(() => driver.close());
    return { driver: driver as Required<StorageDriver>, folder };
  }

  async function madeFolder(folder: string): Promise<void> {
    await mkdir(folder);
    await chown(folder, uid, uid);
  }

  async function madeFile(file: string, text = 'theirs'): Promise<void> {
    await writeFile(file, text);
    await chown(file, uid, uid);
  }

  describe.each(NAMES)('of a folder %s that answers to %s', (listed, other) => {
    async function guarded() {
      const { driver, folder } = await opened();
      await madeFolder(join(folder, listed));
      await madeFile(join(folder, listed, 'plan'));
      return { driver, folder };
    }

    async function isUntouched(driver: StorageDriver, folder: string): Promise<void> {
      for (const path of [`/${other}`, `/${other}/plan`]) await refuses('ENTRY_NOT_FOUND', driver.stat(at(path)));
      await refuses('ENTRY_NOT_FOUND', namesIn(driver, `/${other}`));
      await refuses('ENTRY_NOT_FOUND', driver.read(at(`/${other}/plan`)));
      expect(await readdir(join(folder, listed))).toEqual(['plan']);
      expect(await readFile(join(folder, listed, 'plan'), 'utf8')).toBe('theirs');
    }

    it.each(['', '/new', '/new/below', '/plan'])('no folder is made at the other name and %s', async (below) => {
      const { driver, folder } = await guarded();
      await refuses('ENTRY_EXISTS', driver.makeDirectory(at(`/${other}${below}`)));
      await isUntouched(driver, folder);
    });

    it.each(['', '/new', '/new/below', '/plan'])('no file is stored at the other name and %s', async (below) => {
      const { driver, folder } = await guarded();
      for (const overwrite of [false, true]) await refuses('ENTRY_EXISTS', put(driver, `/${other}${below}`, 'ours', { overwrite }));
      await isUntouched(driver, folder);
    });

    it('nothing gets the other name, or goes below it', async () => {
      const { driver, folder } = await guarded();
      await put(driver, '/file', 'ours');
      await driver.makeDirectory(at('/folder'));
      for (const from of ['/file', '/folder'])
        for (const overwrite of [false, true]) {
          await refuses('ENTRY_EXISTS', driver.rename(at(from), at(`/${other}`), { overwrite }));
          await refuses('ENTRY_NOT_FOUND', driver.rename(at(from), at(`/${other}/new`), { overwrite }));
        }
      await isUntouched(driver, folder);
      expect((await namesIn(driver, '/')).sort()).toEqual(['file', 'folder', listed].sort());
    });

    it('of two who make one folder under both names in one moment none comes into it by the name it has not', async () => {
      for (let round = 0; round < 5; round += 1) {
        const { driver, folder } = await opened();
        await Promise.allSettled([driver.makeDirectory(at(`/${listed}`)), put(driver, `/${other}/ours`, 'ours')]);
        const shown: readonly string[] = await namesIn(driver, '/');
        expect(shown).not.toEqual([]);
        for (const name of shown) await madeFile(join(folder, name, 'plan'));
        // A short name is one of its own where it came first.
        for (const hidden of [listed, other].filter((name) => !shown.includes(name))) {
          await refuses('ENTRY_NOT_FOUND', driver.stat(at(`/${hidden}/plan`)));
          await refuses('ENTRY_EXISTS', put(driver, `/${hidden}/new`, 'ours'));
        }
      }
    });

    it('it is made once it is free', async () => {
      const { driver, folder } = await guarded();
      await refuses('ENTRY_EXISTS', driver.makeDirectory(at(`/${other}`)));
      await rm(join(folder, listed), { recursive: true });
      await put(driver, `/${other}/file`, 'ours');
      expect(await namesIn(driver, '/')).toEqual([other]);
      expect(await textOf(driver, `/${other}/file`)).toBe('ours');
    });
  });

  it.each(NAMES)('a file %s is not replaced as %s', async (listed, other) => {
    const { driver, folder } = await opened();
    await madeFile(join(folder, `${listed}`));
    await put(driver, '/file', 'ours');
    await refuses('ENTRY_EXISTS', driver.makeDirectory(at(`/${other}`)));
    for (const overwrite of [false, true]) {
      await refuses('ENTRY_EXISTS', put(driver, `/${other}`, 'ours', { overwrite }));
      await refuses('ENTRY_EXISTS', driver.rename(at('/file'), at(`/${other}`), { overwrite }));
    }
    expect(await readFile(join(folder, listed), 'utf8')).toBe('theirs');
  });

  // README and readme on a disk that tells them apart; and letters that the server tells apart, and JavaScript does not.
  it.each([
    ['README', 'readme'],
    ['\u212A', 'k'],
    ['Νόμος', 'Νόμοσ'],
  ])('two files whose names differ by case alone stay two, whatever is to get one of the names: %s and %s', async (one, other) => {
    const { driver, folder } = await opened();
    for (const name of [one, other]) await madeFile(join(folder, name), name);
    await put(driver, '/ours', 'ours');
    for (const [name, third] of [
      [one, other],
      [other, one],
    ] as const) {
      for (const overwrite of [false, true]) {
        await refuses('ENTRY_EXISTS', put(driver, `/${name}`, 'ours', { overwrite }));
        for (const from of ['ours', third]) await refuses('ENTRY_EXISTS', driver.rename(at(`/${from}`), at(`/${name}`), { overwrite }));
      }
    }
    expect((await namesIn(driver, '/')).sort()).toEqual([one, other, 'ours'].sort());
    for (const name of [one, other]) expect(await readFile(join(folder, name), 'utf8')).toBe(name);
    for (const name of [one, other]) expect(await textOf(driver, `/${name}`)).toBe(name);
    await driver.remove(at(`/${one}`), { recursive: false });
    await driver.rename(at(`/${other}`), at('/free'), { overwrite: false });
    expect((await readdir(folder)).sort()).toEqual(['free', 'ours']);
    expect(await textOf(driver, '/free')).toBe(other);
  });

  it.each([
    ['Νόμος', 'νόμοσ'],
    ['readme', 'README'],
  ])('a rename may change the spelling alone: %s to %s', async (one, other) => {
    const { driver, folder } = await opened();
    await put(driver, `/${one}`, 'ours');
    await driver.rename(at(`/${one}`), at(`/${other}`), { overwrite: false });
    expect(await readdir(folder)).toEqual([other]);
    expect(await textOf(driver, `/${other}`)).toBe('ours');
  });

  it.each([true, false])('a name in a third spelling is not given to one of them: overwrite %s', async (overwrite) => {
    const { driver, folder } = await opened();
    for (const name of ['Readme', 'README']) await madeFile(join(folder, name), name);
    await refuses('ENTRY_EXISTS', driver.rename(at('/Readme'), at('/readme'), { overwrite }));
    expect((await readdir(folder)).sort()).toEqual(['README', 'Readme']);
    for (const name of ['Readme', 'README']) expect(await readFile(join(folder, name), 'utf8')).toBe(name);
  });

  it('beside many others a new folder lists what it is in twice at most, and a new file in a known one not at all', async () => {
    const way = await startFaultProxy({ to: server });
    onTestFinished(() => way.stop());
    const { driver, folder } = await opened(`${way.host}:${way.port}`);
    for (let index = 0; index < 600; index += 1) await writeFile(join(folder, `one-of-many-with-a-long-name-${index}`), '');
    const costOf = async (call: () => Promise<unknown>) => {
      const before = way.bytesToClient();
      await call();
      return way.bytesToClient() - before;
    };
    const listing = await costOf(() => namesIn(driver, '/'));
    expect(await costOf(() => driver.makeDirectory(at('/made')))).toBeLessThan(2.5 * listing);
    expect(await costOf(() => put(driver, '/by-put/first', 'x'))).toBeLessThan(2.5 * listing);
    expect(await costOf(() => put(driver, '/by-put/second', 'x'))).toBeLessThan(0.5 * listing);
  });
});

const exact = await startSamba({ isCaseSensitive: true, hasShortNames: true });

describe.runIf(isAvailable('rclone', rclone) && isAvailable('samba', exact))('on Samba that tells cases apart', () => {
  if (isMissing(exact)) return;
  afterAll(() => exact.stop());

  it('a folder is there under its long name only, and another one under its short one', async () => {
    const { host, port, username, password, share, folder, uid } = exact;
    const place = join(folder, LONG);
    await mkdir(place);
    await writeFile(join(place, 'plan'), 'theirs');
    for (const path of [place, join(place, 'plan')]) await chown(path, uid, uid);
    const items = { address: `${host}:${port}`, username, password, share_name: share, root_folder_path: '/' };
    const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
    const driver = decorate(await smbDriver.open(JSON.stringify(items), { egress }), smbDriver.limits) as Required<StorageDriver>;
    onTestFinished(() => driver.close());
    expect(driver.traits.caseSensitive).toBe(true);
    expect((await driver.stat(at(`/${LONG}/plan`))).sizeBytes).toBe(6);
    const short = `/${shortName(LONG)}`;
    for (const path of [short, `${short}/plan`]) {
      await refuses('ENTRY_NOT_FOUND', driver.stat(at(path)));
      await refuses('ENTRY_NOT_FOUND', driver.read(at(path)));
      await refuses('ENTRY_NOT_FOUND', namesIn(driver, path));
      await refuses('ENTRY_NOT_FOUND', driver.rename(at(path), at('/mine'), { overwrite: true }));
    }
    // Such a server makes another one of that name.
    await put(driver, `${short}/plan`, 'ours', { overwrite: true });
    expect(await readFile(join(folder, short, 'plan'), 'utf8')).toBe('ours');
    expect(await readdir(place)).toEqual(['plan']);
    expect(await readFile(join(place, 'plan'), 'utf8')).toBe('theirs');
  });
});

/** What Samba calls a long name without a dot besides: a sum of its letters (`mangling method = hash2` in smb.conf(5)). */
function shortName(name: string): string {
  let sum = 0xa6b93095;
  for (const byte of Buffer.from(name.toUpperCase())) sum = (Math.imul(sum, 0x01000193) ^ byte) >>> 0;
  let rest = sum & 0x7fffffff;
  let digits = '';
  for (let place = 0; place < 6; place += 1) {
    digits = (rest % 36).toString(36).toUpperCase() + digits;
    rest = Math.floor(rest / 36);
  }
  return `${name[0]?.toUpperCase()}${digits.slice(0, 5)}~${digits[5]}`;
}
