import { describe, expect, it } from 'vitest';
import { copyEntries, makeDirectory, moveEntries, removeEntries, renameEntry } from './entry-operations.ts';
import { PERMISSION } from './permissions.ts';
import { actor, type MemoryTree, openTree, vpath } from './testing/memory-tree.ts';
import { refusalOf } from './testing/refusal.ts';
import { createTestDriver } from './testing/test-drivers.ts';

const DENIED = ['PERMISSION_DENIED', 'permission denied'];
const without = (bit: number) => actor({ permission: 0xffff & ~(1 << bit) });

/** One storage in steps, one by reading and writing only, and one that is another. */
async function open(options: Parameters<typeof openTree>[0] = {}): Promise<MemoryTree> {
  const plain = createTestDriver('Plain', ['rename', 'copy']);
  return openTree({
    storages: [{ mount_path: '/a' }, { mount_path: '/b' }, { mount_path: '/p', driver: 'Plain' }],
    ...options,
    drivers: [plain.definition, ...(options.drivers ?? [])],
  });
}

const placement = (
  src_dir: string,
  dst_dir: string,
  names: string[],
  rest: { overwrite?: boolean; skip_existing?: boolean; merge?: boolean } = {},
) => ({
  src_dir,
  dst_dir,
  names,
  overwrite: false,
  skip_existing: false,
  ...rest,
});

describe('making a folder', () => {
  it('makes those above it too, is content with one that is there, and tells', async () => {
    const memory = await open();
    await makeDirectory(memory.operation(), '/a/x/y');
    await makeDirectory(memory.operation(), 'a//x/y/');
    expect(await memory.everything('/a')).toEqual(['/a/x/y/']);
    expect(memory.published).toEqual(['/a/x/y', '/a/x/y']);
  });

  it('where a file is fails with the family’s code and text', async () => {
    const memory = await open();
    await memory.put('/a/f');
    expect(await refusalOf(makeDirectory(memory.operation(), '/a/f'))).toEqual(['FAILED_PRECONDITION', 'file exists']);
  });

  it('of a mount point, of a folder above one and of the root does nothing', async () => {
    const memory = await open({ storages: [{ mount_path: '/m/n' }] });
    for (const path of ['/', '/m', '/m/n']) await makeDirectory(memory.operation(), path);
    expect(memory.published).toEqual([]);
    expect((await refusalOf(makeDirectory(memory.operation(), '/m/other')))[0]).toBe('MOUNT_NOT_FOUND');
  });

  it('needs the permission to write, or a rule that lets everybody', async () => {
    const memory = await open({ rules: [{ path: '/a/drop', write: true }] });
    expect(await refusalOf(makeDirectory(memory.operation(without(PERMISSION.write)), '/a/x'))).toEqual(DENIED);
    await makeDirectory(memory.operation(without(PERMISSION.write)), '/a/drop/x');
  });
});

describe('renaming', () => {
  const rename = (memory: MemoryTree, path: string, name: string, overwrite = false, who = actor()) =>
    renameEntry(memory.operation(who), { path, name, overwrite });

  it.each(['/a', '/p'])('gives an entry in %s another name, and tells of both', async (root) => {
    const memory = await open();
    await memory.put(`${root}/d/f`, 'text');
    await rename(memory, `${root}/d`, 'e');
    expect(await memory.everything(root)).toEqual([`${root}/e/f`]);
    expect(memory.published).toEqual([`${root}/d`, `${root}/e`]);
  });

  it('to the name it has changes nothing', async () => {
    const memory = await open();
    await memory.put('/a/f');
    await rename(memory, '/a/f', 'f');
    expect(memory.published).toEqual([]);
    expect((await refusalOf(rename(memory, '/a/none', 'none')))[0]).toBe('ENTRY_NOT_FOUND');
  });

  it('to a taken name is refused, unless it may replace', async () => {
    const memory = await open();
    await memory.put('/a/f', 'new');
    await memory.put('/a/g', 'old');
    expect(await refusalOf(rename(memory, '/a/f', 'g'))).toEqual(['ENTRY_EXISTS', 'file [g] exists']);
    await rename(memory, '/a/f', 'g', true);
    expect(await memory.textOf('/a/g')).toBe('new');
    expect(await memory.everything('/a')).toEqual(['/a/g']);
  });

  it('never takes the name of a mount point', async () => {
    const memory = await open({ storages: [{}, { mount_path: '/m' }] });
    await memory.put('/f');
    expect(await refusalOf(rename(memory, '/f', 'm', true))).toEqual(['ENTRY_EXISTS', 'file [m] exists']);
  });

  it.each(['', '.', '..', 'x/y', 'x\\y', '../x', 'a\0b', 'a\nb', 'x'.repeat(256)])('to %j is refused', async (name) => {
    const memory = await open();
    await memory.put('/a/f');
    expect(await refusalOf(rename(memory, '/a/f', name))).toEqual(['UNSAFE_PATH', 'using relative path is not allowed']);
    expect(await memory.everything('/a')).toEqual(['/a/f']);
  });

  it.each(['/a', '/', '/home'])('of %s, a root, is refused', async (path) => {
    const memory = await open({ storages: [{ mount_path: '/a' }, { mount_path: '/home' }] });
    const who = path === '/home' ? actor({ basePath: vpath('/home') }) : actor();
    expect(
      await refusalOf(renameEntry(memory.operation(who), { path: path === '/home' ? '/' : path, name: 'x', overwrite: false })),
    ).toEqual(['FAILED_PRECONDITION', 'rename root folder is not allowed']);
  });

  it('needs its permission, and that of the rules at both names', async () => {
    const memory = await open({
      rules: [
        { path: '/a', hide: '^secret' },
        { path: '/a/fixed', write_users: [99] },
      ],
    });
    await memory.put('/a/f');
    await memory.put('/a/fixed');
    expect(await refusalOf(rename(memory, '/a/f', 'g', false, without(PERMISSION.rename)))).toEqual(DENIED);
    expect(await refusalOf(rename(memory, '/a/fixed', 'g'))).toEqual(DENIED);
    expect(await refusalOf(rename(memory, '/a/f', 'secret', false, without(PERMISSION.seeHidden)))).toEqual(DENIED);
    expect(await memory.everything('/a')).toEqual(['/a/f', '/a/fixed']);
  });
});

describe('removing', () => {
  it('takes away files and folders, is content when nothing is there, and tells', async () => {
    const memory = await open();
    for (const path of ['/a/d/e/f', '/a/g', '/a/keep']) await memory.put(path);
    await removeEntries(memory.operation(), { dir: '/a', names: ['d', 'g', 'none', 'g', 'keep/below'] });
    expect(await memory.everything('/a')).toEqual(['/a/keep']);
    expect(memory.published).toContain('/a/d');
  });

  it('checks every name before the first goes', async () => {
    const memory = await open({ rules: [{ path: '/a/fixed/deep', write_users: [99] }] });
    for (const path of ['/a/f', '/a/fixed/deep/x']) await memory.put(path);
    const names = (...given: string[]) => removeEntries(memory.operation(), { dir: '/a', names: given });
    expect(await refusalOf(names('f', 'fixed'))).toEqual(DENIED);
    expect(await refusalOf(names('f', '../b'))).toEqual(['UNSAFE_PATH', 'using relative path is not allowed']);
    expect(await refusalOf(names('f', '.'))).toEqual(['INVALID_ARGUMENT', 'invalid file name [.]']);
    expect(await refusalOf(names())).toEqual(['INVALID_ARGUMENT', 'Empty file names']);
    expect(await memory.everything('/a')).toEqual(['/a/f', '/a/fixed/deep/x']);
    expect(memory.published).toEqual([]);
  });

  it('never takes a mount point, nor a folder above one', async () => {
    const memory = await open({ storages: [{}, { mount_path: '/m/n' }] });
    await memory.put('/m/x');
    for (const [dir, name] of [
      ['/', 'm'],
      ['/m', 'n'],
      ['/', 'm/n'],
    ])
      expect(await refusalOf(removeEntries(memory.operation(), { dir: dir ?? '', names: [name ?? ''] }))).toEqual([
        'FAILED_PRECONDITION',
        'delete root folder is not allowed',
      ]);
  });

  it('needs its permission', async () => {
    const memory = await open();
    expect(await refusalOf(removeEntries(memory.operation(without(PERMISSION.remove)), { dir: '/a', names: ['x'] }))).toEqual(DENIED);
  });
});

const WAYS = [
  ['within a storage', '/a/from', '/a/to'],
  ['within a storage that only reads and writes', '/p/from', '/p/to'],
  ['to another storage', '/a/from', '/b/to'],
  ['from one that only reads and writes', '/p/from', '/a/to'],
] as const;

describe.each(WAYS)('%s', (_how, from, to) => {
  it('moving takes files and folders along, with empty folders and times, into a folder that need not be there', async () => {
    const memory = await open();
    await memory.put(`${from}/f`, 'text');
    await memory.put(`${from}/d/e/g`, 'deep');
    await memory.makeFolder(`${from}/d/empty`);
    await moveEntries(memory.operation(), placement(from, to, ['f', 'd']));
    expect(await memory.everything('/')).toEqual([`${from}/`, `${to}/d/e/g`, `${to}/d/empty/`, `${to}/f`].sort());
    expect(await memory.textOf(`${to}/d/e/g`)).toBe('deep');
    for (const path of [`${from}/f`, `${to}/f`, `${from}/d`, `${to}/d`]) expect(memory.published).toContain(path);
  });

  it('copying leaves the source, and keeps empty folders', async () => {
    const memory = await open();
    await memory.put(`${from}/d/g`, 'deep');
    await memory.makeFolder(`${from}/d/empty`);
    await copyEntries(memory.operation(), placement(from, to, ['d']));
    expect(await memory.everything('/')).toEqual([`${from}/d/empty/`, `${from}/d/g`, `${to}/d/empty/`, `${to}/d/g`].sort());
    expect(memory.published).toEqual([`${to}/d`]);
  });

  describe.each([
    ['move', moveEntries],
    ['copy', copyEntries],
  ] as const)('%s over something', (verb, act) => {
    const left = (path: string) => (verb === 'copy' ? [path] : []);
    const setUp = async () => {
      const memory = await open();
      await memory.put(`${from}/f`, 'new');
      await memory.put(`${from}/d/both`, 'new');
      await memory.put(`${from}/d/mine`, 'new');
      await memory.put(`${to}/f`, 'old');
      await memory.put(`${to}/d/both`, 'old');
      await memory.put(`${to}/d/theirs`, 'old');
      return memory;
    };

    it('is refused before anything is done', async () => {
      const memory = await setUp();
      await memory.put(`${from}/free`);
      const before = await memory.everything('/');
      expect(await refusalOf(act(memory.operation(), placement(from, to, ['free', 'f'])))).toEqual(['ENTRY_EXISTS', 'file [f] exists']);
      expect(await refusalOf(act(memory.operation(), placement(from, to, ['free', 'd'])))).toEqual(['ENTRY_EXISTS', 'file [d] exists']);
      expect(await memory.everything('/')).toEqual(before);
      expect(memory.published).toEqual([]);
    });

    it('leaves out what is taken with skip_existing', async () => {
      const memory = await setUp();
      await memory.put(`${from}/free`);
      await act(memory.operation(), placement(from, to, ['f', 'free', 'd'], { skip_existing: true }));
      expect(await memory.textOf(`${to}/f`)).toBe('old');
      expect(await memory.textOf(`${to}/free`)).toBe(`${from}/free`);
      expect(await memory.textOf(`${from}/f`)).toBe('new');
    });

    it('replaces files and merges folders with overwrite', async () => {
      const memory = await setUp();
      await act(memory.operation(), placement(from, to, ['f', 'd'], { overwrite: true }));
      expect(await memory.textOf(`${to}/f`)).toBe('new');
      expect(await memory.textOf(`${to}/d/both`)).toBe('new');
      expect(await memory.everything(to)).toEqual([`${to}/d/both`, `${to}/d/mine`, `${to}/d/theirs`, `${to}/f`]);
      expect((await memory.everything(from)).filter((path) => path === `${from}/f`)).toEqual(left(`${from}/f`));
    });
  });

  it('copying merges folders and leaves the files that are there with merge', async () => {
    const memory = await open();
    for (const path of [`${from}/f`, `${from}/d/both`, `${from}/d/mine`]) await memory.put(path, 'new');
    for (const path of [`${to}/f`, `${to}/d/both`]) await memory.put(path, 'old');
    await copyEntries(memory.operation(), placement(from, to, ['f', 'd'], { merge: true }));
    expect(await Promise.all([`${to}/f`, `${to}/d/both`, `${to}/d/mine`].map((path) => memory.textOf(path)))).toEqual([
      'old',
      'old',
      'new',
    ]);
  });
});

describe.each([
  ['move', moveEntries],
  ['copy', copyEntries],
] as const)('%s', (verb, act) => {
  const refused = async (memory: MemoryTree, request: Parameters<typeof act>[1], who = actor()) =>
    refusalOf(act(memory.operation(who), request));

  it('into the same folder, onto itself or into itself is refused', async () => {
    const memory = await open();
    await memory.put('/a/d/x');
    expect(await refused(memory, placement('/a', 'a/', ['d']))).toEqual(['FAILED_PRECONDITION', `${verb} in place`]);
    expect(await refused(memory, placement('/', '/a', ['a/d']))).toEqual(['FAILED_PRECONDITION', `${verb} in place`]);
    expect(await refused(memory, placement('/a', '/a/d', ['d']))).toEqual(['FAILED_PRECONDITION', `${verb} of a folder into itself`]);
    expect(await refused(memory, placement('/a', '/a/d/x/y', ['d'], { overwrite: true }))).toEqual([
      'FAILED_PRECONDITION',
      `${verb} of a folder into itself`,
    ]);
    expect(await memory.everything('/a')).toEqual(['/a/d/x']);
  });

  it('takes a name that is given twice once', async () => {
    const memory = await open();
    await memory.put('/a/f');
    const request = placement('/a', '/b', ['f', './f'], { skip_existing: true });
    await act(memory.operation(), request);
    expect(await memory.everything('/b')).toEqual(['/b/f']);
  });

  it('of two entries of one name is refused, also where it may replace, for one would be lost', async () => {
    const memory = await open();
    await memory.put('/a/x/f', 'x');
    await memory.put('/a/y/f', 'y');
    for (const overwrite of [false, true])
      expect(await refused(memory, placement('/a', '/b', ['x/f', 'y/f'], { overwrite }))).toEqual(['ENTRY_EXISTS', 'file [f] exists']);
    expect(await memory.everything('/')).toEqual(['/a/x/f', '/a/y/f']);
  });

  it('checks names first', async () => {
    const memory = await open();
    await memory.put('/a/f');
    expect(await refused(memory, placement('/a', '/b', []))).toEqual(['INVALID_ARGUMENT', 'Empty file names']);
    expect(await refused(memory, placement('/a', '/b', ['f', '/']))).toEqual(['INVALID_ARGUMENT', 'invalid file name [/]']);
    expect((await refused(memory, placement('/a', '/b', ['f', '../a/f'])))[0]).toBe('UNSAFE_PATH');
    expect((await refused(memory, placement('/a', '/b', ['f', 'none'])))[0]).toBe('ENTRY_NOT_FOUND');
    expect(await memory.everything('/b')).toEqual([]);
  });

  it('needs its permission and what the rules of both places say', async () => {
    const memory = await open({
      rules: [
        { path: '/a/locked', password: 'pw', p_sub: true },
        { path: '/a/d/inner', read_users: [99], read_users_sub: true },
        { path: '/b/fixed', write_users: [99], write_users_sub: true },
        { path: '/b/box', password: 'pw', p_sub: true },
      ],
    });
    for (const path of ['/a/f', '/a/locked/f', '/a/d/inner/f']) await memory.put(path);
    const untrusted = without(PERMISSION.skipPassword);
    expect(await refused(memory, placement('/a', '/b', ['f']), without(verb === 'move' ? PERMISSION.move : PERMISSION.copy))).toEqual(
      DENIED,
    );
    expect((await refused(memory, placement('/a/locked', '/b', ['f']), untrusted))[0]).toBe('PERMISSION_DENIED');
    expect(await refused(memory, placement('/a', '/b', ['locked']), untrusted)).toEqual(DENIED);
    expect(await refused(memory, placement('/a', '/b', ['d']))).toEqual(DENIED);
    expect(await refused(memory, placement('/a', '/b/fixed', ['f']))).toEqual(DENIED);
    // Nobody is asked for the password of a place into which he only puts something.
    await act(memory.operation(untrusted), placement('/a', '/b/box', ['f']));
    expect(await memory.everything('/b')).toEqual(['/b/box/f']);
  });

  it('stays with one of several storages at one place from the look to the deed', async () => {
    const memory = await open({
      storages: [
        { mount_path: '/g.balance1', driver: 'Plain', addition: '{"store":"1"}' },
        { mount_path: '/g.balance2', driver: 'Plain', addition: '{"store":"2"}' },
      ],
    });
    // Each call takes the next storage in turn: the file goes to one of them, and is looked for in the same one.
    await memory.put('/g/f', 'text');
    memory.tree.table.locate(vpath('/g'));
    await act(memory.operation(), placement('/g', '/g/d', ['f']));
    memory.tree.table.locate(vpath('/g'));
    const texts = await Promise.allSettled([memory.textOf('/g/d/f'), memory.textOf('/g/d/f')]);
    expect(texts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

it('a mount point is not moved, but what it holds can be copied', async () => {
  const memory = await open();
  await memory.put('/a/f', 'text');
  expect(await refusalOf(moveEntries(memory.operation(), placement('/', '/b', ['a'])))).toEqual([
    'FAILED_PRECONDITION',
    'move root folder is not allowed',
  ]);
  await copyEntries(memory.operation(), placement('/', '/b', ['a']));
  expect(await memory.textOf('/b/a/f')).toBe('text');
});

it('what was done before a failure stays, is told, and nothing is lost', async () => {
  const full = createTestDriver('Full');
  const memory = await open({ drivers: [full.definition], storages: [{ mount_path: '/a' }, { mount_path: '/full', driver: 'Full' }] });
  for (const path of ['/a/d/1', '/a/d/2', '/a/d/3']) await memory.put(path);
  full.failWrites((path) => path === '/d/2');
  expect((await refusalOf(moveEntries(memory.operation(), placement('/a', '/full', ['d']))))[0]).toBe('QUOTA_EXCEEDED');
  expect(await memory.everything('/a')).toEqual(['/a/d/1', '/a/d/2', '/a/d/3']);
  expect(memory.published).toContain('/full/d');
});

it('a cancelled copy ends', async () => {
  const memory = await open();
  for (const path of ['/a/d/1', '/a/d/2']) await memory.put(path);
  const gone = AbortSignal.abort();
  expect((await refusalOf(copyEntries(memory.operation(actor(), gone), placement('/a', '/b', ['d']))))[0]).toBe('CANCELLED');
  expect(await memory.everything('/b')).toEqual([]);
});

describe('a name of several segments', () => {
  const own = actor({ permission: 0xfffc });

  it('is judged by the folder it leads into', async () => {
    const memory = await open({
      rules: [
        { path: '/a/fixed', write_users: [99] },
        { path: '/a/guarded', password: 'word' },
      ],
    });
    for (const path of ['/a/fixed/kept', '/a/guarded/secret']) await memory.put(path);
    const operation = memory.operation(own);
    expect(await refusalOf(removeEntries(operation, { dir: '/a', names: ['fixed/kept'] }))).toEqual(DENIED);
    expect(await refusalOf(moveEntries(operation, placement('/a', '/b', ['fixed/kept'])))).toEqual(DENIED);
    expect((await refusalOf(copyEntries(operation, placement('/a', '/b', ['guarded/secret']))))[0]).toBe('PERMISSION_DENIED');
    expect(await memory.everything()).toEqual(['/a/fixed/kept', '/a/guarded/secret']);
  });
});
