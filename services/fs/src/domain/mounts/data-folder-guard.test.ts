import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AppError } from '@wharf/errors';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { localDriver } from '../../drivers/local/index.ts';
import { guardDataFolder, markDataFolder } from './data-folder-guard.ts';

/** Folders whose names were read all at once. */
const readWhole = vi.hoisted((): unknown[] => []);
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const readdir = (folder: string, options: object) => {
    readWhole.push(folder);
    return real.readdir(folder, options);
  };
  return { ...real, readdir };
});

let top: string;
let data: string;

beforeAll(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'wharf-guard-')));
  data = join(top, 'data');
  for (const folder of ['data/store', 'data/files/mine', 'data-of-others', 'elsewhere'])
    await mkdir(join(top, folder), { recursive: true });
  await symlink(data, join(top, 'link'));
});
afterAll(() => rm(top, { recursive: true, force: true }));

const open = async (items: Record<string, string>) => {
  const guarded = guardDataFolder(localDriver, data, [join(data, 'files')]);
  const driver = await guarded.open(JSON.stringify({ mkdir_perm: '777', ...items }));
  await driver.close();
};

describe('a local storage', () => {
  it.each(['data-of-others', 'elsewhere', 'data/files', 'data/files/mine'])('may show %s', async (folder) => {
    await expect(open({ root_folder_path: join(top, folder) })).resolves.toBeUndefined();
  });

  it.each(['data', 'data/store', 'data/', 'link', 'link/store', 'elsewhere/../data/store', '.', 'data/files/../store', 'data/not-there'])(
    'may not show %s',
    async (folder) => {
      const refused = open({ root_folder_path: `${top}/${folder}` });
      await expect(refused).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining("Wharf's own data folder"),
      });
    },
  );

  it('may not show the whole machine', async () => {
    await expect(open({ root_folder_path: '/' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(open({ root_folder_path: dirname(top) })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('may not put anything there either', async () => {
    const root_folder_path = join(top, 'elsewhere');
    for (const item of ['recycle_bin_path', 'thumb_cache_folder']) {
      const error = await open({ root_folder_path, [item]: join(data, 'store') }).catch(AppError.from);
      expect(error?.message).toMatch(new RegExp(`^${item} `));
    }
    await expect(open({ root_folder_path, recycle_bin_path: 'delete permanently' })).resolves.toBeUndefined();
  });
});

describe('a local storage of a replica that shares no data folder with another one', () => {
  const openElsewhere = async (folder: string) => {
    const driver = await guardDataFolder(localDriver, undefined, []).open(
      JSON.stringify({ mkdir_perm: '777', root_folder_path: join(top, 'machine', folder) }),
    );
    await driver.close();
  };
  beforeAll(async () => {
    for (const folder of ['one/files/mine', 'one/store', 'apart/deep']) await mkdir(join(top, 'machine', folder), { recursive: true });
    await markDataFolder(join(top, 'machine', 'one'));
    await markDataFolder(join(top, 'machine', 'one'));
  });

  it.each(['one', 'one/store', 'one/store/not-there', '.'])('may not show %s of the other', async (folder) => {
    await expect(openElsewhere(folder)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('is looked through some names at a time', async () => {
    await openElsewhere('apart');
    expect(readWhole).not.toContain(join(top, 'machine', 'apart'));
  });

  it.each(['one/files', 'one/files/mine', 'apart'])('may show %s', async (folder) => {
    await expect(openElsewhere(folder)).resolves.toBeUndefined();
  });
});
