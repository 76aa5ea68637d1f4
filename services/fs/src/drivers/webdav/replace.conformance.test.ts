import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, isMissing, startRcloneDav } from '@wharf/harness';
import { currentOwner } from '@wharf/owned-names';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { at, namesIn, put, refuses, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { newAsideName } from '../../driver-contract/temp-names.ts';
import { webdavDriver } from './index.ts';
import { type DoubtfulWay, startDoubtfulWay } from './testing/doubtful-way.ts';
import { testEgress } from './testing/test-egress.ts';

const rclone = await startRcloneDav();

describe.runIf(isAvailable('rclone', rclone))(
  'on rclone serve webdav, which removes what is replaced before it looks for what replaces it',
  () => {
    if (isMissing(rclone)) return;
    const server = rclone;
    let count = 0;
    const ways: DoubtfulWay[] = [];
    afterEach(async () => {
      for (const way of ways.splice(0)) await way.stop();
    });
    afterAll(() => server.stop());

    /** With the file `f`. */
    async function opened() {
      count += 1;
      const folder = path.join(server.folder, `s${count}`);
      await mkdir(folder);
      await writeFile(path.join(folder, 'f'), 'old');
      const way = await startDoubtfulWay(server);
      ways.push(way);
      const items = { address: `${way.url}/dav`, username: server.username, password: server.password, root_folder_path: `/s${count}` };
      const open = () => webdavDriver.open(JSON.stringify(items), { egress: testEgress() });
      const driver = (await open()) as Required<StorageDriver>;
      onTestFinished(() => driver.close());
      // What it was tried with is gone, and so it is looked at.
      expect(await namesIn(driver, '/')).toEqual(['f']);
      way.moves = 0;
      const content = (name: string) => readFile(path.join(folder, name), 'utf8');
      return { driver, way, folder, content };
    }

    const left = async (folder: string) => (await readdir(folder)).filter((name) => name.startsWith('.wharf')).sort();

    it('nothing is left beside what was replaced, neither by files nor by folders', async () => {
      const { driver, folder, content } = await opened();
      await put(driver, '/f', 'new');
      expect(await content('f')).toBe('new');
      await put(driver, '/g/of/it', 'in a folder');
      await driver.makeDirectory(at('/d'));
      await driver.rename(at('/g'), at('/d'), { overwrite: true });
      expect(await content('d/of/it')).toBe('in a folder');
      await put(driver, '/other', 'other');
      await driver.rename(at('/other'), at('/f'), { overwrite: true });
      expect(await content('f')).toBe('other');
      expect((await readdir(folder)).sort()).toEqual(['d', 'f']);
    });

    it('a MOVE that is carried out twice gives a name once, to a new file and over another', async () => {
      const { driver, way, folder, content } = await opened();
      way.doubt = 'twice';
      expect(await put(driver, '/new', 'one')).toMatchObject({ sizeBytes: 3 });
      expect(await readdir(folder)).toEqual(['f', 'new']);
      await driver.remove(at('/new'), { recursive: false });
      expect(await put(driver, '/f', 'new content')).toMatchObject({ sizeBytes: 11 });
      expect(await content('f')).toBe('new content');
      way.doubt = 'none';
      await put(driver, '/other', 'other');
      way.doubt = 'twice';
      expect(await driver.rename(at('/other'), at('/f'), { overwrite: true })).toMatchObject({ name: 'f', sizeBytes: 5 });
      expect(await readdir(folder)).toEqual(['f']);
      expect(await content('f')).toBe('other');
    });

    it.each([1, 2, 3])('MOVE %s of a replacement that is carried out late takes away nothing that was stored since', async (lateMove) => {
      const { driver, way, folder, content } = await opened();
      way.doubt = { lateMove };
      const isStored = await put(driver, '/f', 'first').then(
        () => true,
        () => false,
      );
      expect(await content('f')).toBe(isStored ? 'first' : 'old');
      way.doubt = 'none';
      await put(driver, '/f', 'second');
      expect(await way.carryOut()).toBe(1);
      expect(await content('f')).toBe('second');
      expect(await textOf(driver, '/f')).toBe('second');
      await vi.waitFor(async () => expect(await left(folder)).toEqual([]), { timeout: 20_000, interval: 100 });
    });

    it.each([1, 2])(
      'MOVE %s of a rename over a file that is carried out late takes away nothing that was stored since',
      async (lateMove) => {
        const { driver, way, content } = await opened();
        await put(driver, '/other', 'other');
        Object.assign(way, { moves: 0, doubt: { lateMove } });
        await driver.rename(at('/other'), at('/f'), { overwrite: true }).catch(() => undefined);
        way.doubt = 'none';
        await driver.remove(at('/other'), { recursive: false }).catch(() => undefined);
        await put(driver, '/f', 'second');
        expect(await way.carryOut()).toBe(1);
        expect(await content('f')).toBe('second');
      },
    );

    it('what a second server of the folder was asked too, and does later, takes away nothing', async () => {
      const { driver, way, content, folder } = await opened();
      way.doubt = 'again';
      await put(driver, '/f', 'new');
      way.doubt = 'none';
      expect(await way.carryOut()).toBeGreaterThan(2);
      expect(await content('f')).toBe('new');
      expect(await namesIn(driver, '/')).toEqual(['f']);
      await driver.close();
      expect(await left(folder)).toEqual([]);
    });

    it('what had stepped aside for a process that has ended has its name again once its folder is listed', async () => {
      const { driver, folder, content } = await opened();
      const ended = newAsideName({ ...currentOwner(), pid: 4_194_305 }, undefined, Date.now()).name;
      await mkdir(path.join(folder, ended));
      await writeFile(path.join(folder, ended, 'lost ä'), 'all there is');
      expect((await namesIn(driver, '/')).sort()).toEqual(['f', 'lost ä']);
      expect(await content('lost ä')).toBe('all there is');
      expect(await left(folder)).toEqual([]);
    });

    it('a folder in which something is does not step aside for another', async () => {
      const { driver, content } = await opened();
      await put(driver, '/d/kept', 'kept');
      await driver.makeDirectory(at('/e'));
      await refuses('DIRECTORY_NOT_EMPTY', driver.rename(at('/e'), at('/d'), { overwrite: true }));
      expect(await content('d/kept')).toBe('kept');
    });
  },
);
