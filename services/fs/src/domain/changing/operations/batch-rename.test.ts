// biome-ignore-all lint/suspicious/noTemplateCurlyInString: names of groups, not placeholders
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryDriver } from '../../../drivers/memory/driver.ts';
import { actor, type MemoryTree, mpath, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { createTestDriver } from '../../testing/test-drivers.ts';
import { DENIED, openStorages, without } from '../../testing/three-storages.ts';
import { batchRename } from './batch-rename.ts';
import { regexRename } from './regex-rename.ts';
import { renameEntry } from './rename-entry.ts';

type Pairs = readonly (readonly [from: string, to: string])[];
const batch = (memory: MemoryTree, dir: string, pairs: Pairs, who = actor()) =>
  batchRename(memory.operation(who), {
    src_dir: dir,
    rename_objects: pairs.map(([src_name, new_name]) => ({ src_name, new_name })),
  });
const regex = (memory: MemoryTree, dir: string, pattern: string, template: string, who = actor()) =>
  regexRename(memory.operation(who), { src_dir: dir, src_name_regex: pattern, new_name_regex: template });

/** What each file of a folder holds, by name; files are filled with their first name. */
async function textsIn(memory: MemoryTree, dir: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const path of await memory.everything(dir)) texts[path.slice(dir.length + 1)] = await memory.textOf(path);
  return texts;
}
const isThere = (driver: MemoryDriver, path: string) =>
  driver.stat(mpath(path)).then(
    () => true,
    () => false,
  );
async function filled(dir: string, ...names: string[]): Promise<MemoryTree> {
  const memory = await openStorages();
  for (const name of names) await memory.put(`${dir}/${name}`, name);
  return memory;
}

describe.each(['/a', '/p'])('renaming several entries of %s', (dir) => {
  it('gives each its new name', async () => {
    const memory = await filled(dir, 'x', 'y', 'z');
    await batch(memory, dir, [
      ['x', 'x1'],
      ['y', 'y1'],
    ]);
    expect(await textsIn(memory, dir)).toEqual({ x1: 'x', y1: 'y', z: 'z' });
    expect(memory.published).toEqual([`${dir}/x`, `${dir}/x1`, `${dir}/y`, `${dir}/y1`]);
  });

  it.each<[string, Pairs, Record<string, string>]>([
    [
      'swaps',
      [
        ['x', 'y'],
        ['y', 'x'],
      ],
      { y: 'x', x: 'y', z: 'z' },
    ],
    [
      'goes round in a circle',
      [
        ['x', 'y'],
        ['y', 'z'],
        ['z', 'x'],
      ],
      { y: 'x', z: 'y', x: 'z' },
    ],
    [
      'follows one another',
      [
        ['x', 'y'],
        ['y', 'z'],
        ['z', 'w'],
      ],
      { y: 'x', z: 'y', w: 'z' },
    ],
  ])('%s', async (_what, pairs, expected) => {
    const memory = await filled(dir, 'x', 'y', 'z');
    await batch(memory, dir, pairs);
    expect(await textsIn(memory, dir)).toEqual(expected);
  });

  it('passes over items without a name, and leaves what keeps its own', async () => {
    const memory = await filled(dir, 'x', 'y');
    await batch(memory, dir, [
      ['', 'n'],
      ['y', ''],
      ['x', 'x'],
    ]);
    expect(await textsIn(memory, dir)).toEqual({ x: 'x', y: 'y' });
    expect(memory.published).toEqual([]);
  });

  it.each<[string, Pairs, string[]]>([
    [
      'a taken name',
      [
        ['x', 'n'],
        ['y', 'z'],
      ],
      ['ENTRY_EXISTS', 'file [z] exists'],
    ],
    [
      'one name for two',
      [
        ['x', 'n'],
        ['y', 'n'],
      ],
      ['ENTRY_EXISTS', 'file [n] exists'],
    ],
    [
      'the name of one that keeps it',
      [
        ['x', 'x'],
        ['y', 'x'],
      ],
      ['ENTRY_EXISTS', 'file [x] exists'],
    ],
    [
      'two names for one',
      [
        ['x', 'n'],
        ['x', 'm'],
      ],
      ['INVALID_ARGUMENT', '[x] is given two new names'],
    ],
    [
      'nothing that is there',
      [
        ['x', 'n'],
        ['none', 'm'],
      ],
      ['ENTRY_NOT_FOUND', 'object not found'],
    ],
    [
      'a name that climbs',
      [
        ['x', 'n'],
        ['y', '../m'],
      ],
      ['UNSAFE_PATH', 'using relative path is not allowed'],
    ],
    [
      'something that climbs',
      [
        ['x', 'n'],
        ['../p/y', 'm'],
      ],
      ['UNSAFE_PATH', 'using relative path is not allowed'],
    ],
  ])('is refused whole for %s', async (_what, pairs, refused) => {
    const memory = await filled(dir, 'x', 'y', 'z');
    expect(await refusalOf(batch(memory, dir, pairs))).toEqual(refused);
    expect(await textsIn(memory, dir)).toEqual({ x: 'x', y: 'y', z: 'z' });
  });

  it('by a random map of names gives what the map says, or leaves all as it was', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.tuple(name, name), { selector: ([from]) => from }), async (pairs) => {
        const memory = await filled(dir, 'a', 'b', 'c', 'd');
        const map = new Map<string, string>(pairs);
        const expected = ['a', 'b', 'c', 'd'].map((each) => map.get(each) ?? each);
        const isFine = !map.has('e') && new Set(expected).size === expected.length;
        const outcome = await batch(memory, dir, pairs).then(
          () => true,
          () => false,
        );
        expect(outcome).toBe(isFine);
        const names = isFine ? expected : ['a', 'b', 'c', 'd'];
        expect(await textsIn(memory, dir)).toEqual(Object.fromEntries(names.map((each, at) => [each, 'abcd'[at]])));
      }),
      { numRuns: 60 },
    );
  });
});

describe('renaming several entries', () => {
  it('that fails in the middle is undone', async () => {
    const plain = createTestDriver('Failing', ['rename', 'copy']);
    const memory = await openTree({ storages: [{ driver: 'Failing' }], drivers: [plain.definition] });
    for (const name of ['x', 'y', 'z']) await memory.put(`/${name}`, name);
    plain.failWrites((path) => path === '/full');
    const pairs: Pairs = [
      ['x', 'y'],
      ['y', 'x'],
      ['z', 'full'],
    ];
    for (const order of [pairs, pairs.toReversed()]) {
      expect((await refusalOf(batch(memory, '/', order)))[0]).toBe('QUOTA_EXCEEDED');
      expect(await memory.everything()).toEqual(['/x', '/y', '/z']);
      expect(await memory.textOf('/x')).toBe('x');
    }
  });

  it.each([[[]], [['rename', 'copy']]] as const)(
    'that is undone leaves what somebody else has stored at a new name meanwhile, in a storage without %j',
    async (without) => {
      const driver = createTestDriver('Failing', without);
      const memory = await openTree({ storages: [{ driver: 'Failing' }], drivers: [driver.definition] });
      for (const name of ['x', 'y', 'z']) await memory.put(`/${name}`, name);
      // By then the first two have their names.
      const store = driver.storeOf();
      driver.beforeCalls(async () => {
        if (await isThere(store, '/y1')) {
          driver.beforeCalls(async () => {});
          await memory.put('/x1', 'of somebody else');
          await memory.put('/z1', 'in the way');
        }
      });
      const pairs: Pairs = ['x', 'y', 'z'].map((name) => [name, `${name}1`] as const);
      expect((await refusalOf(batch(memory, '/', pairs)))[1]).toMatch(/1 of the entries did not get their names back/);
      expect(await textsIn(memory, '')).toEqual({ x1: 'of somebody else', y: 'y', z: 'z', z1: 'in the way' });
    },
  );

  it('takes folders, but no mount point, neither away nor its name', async () => {
    const memory = await openTree({ storages: [{}, { mount_path: '/m' }] });
    await memory.put('/d/f', 'text');
    await memory.put('/f');
    await batch(memory, '/', [['d', 'e']]);
    expect(await memory.textOf('/e/f')).toBe('text');
    expect(await refusalOf(batch(memory, '/', [['m', 'n']]))).toEqual(['FAILED_PRECONDITION', 'rename root folder is not allowed']);
    expect(await refusalOf(batch(memory, '/', [['f', 'm']]))).toEqual(['ENTRY_EXISTS', 'file [m] exists']);
  });

  it('with a long name in a circle keeps within the length of names', async () => {
    const [long, other] = ['é'.repeat(127), 'y'.repeat(255)];
    const memory = await filled('/a', long, other);
    await batch(memory, '/a', [
      [long, other],
      [other, long],
    ]);
    expect(await memory.textOf(`/a/${other}`)).toBe(long);
  });

  it('needs its permission and what the rules of the folder and of both names say', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a', hide: '^secret' },
        { path: '/a/fixed', write_users: [99] },
        { path: '/b', write_users: [99] },
      ],
    });
    for (const path of ['/a/f', '/a/fixed', '/a/secret', '/b/f']) await memory.put(path);
    const blind = without('see_hides');
    expect(await refusalOf(batch(memory, '/a', [['f', 'g']], without('rename')))).toEqual(DENIED);
    expect(await refusalOf(batch(memory, '/b', [['f', 'g']]))).toEqual(DENIED);
    expect(await refusalOf(batch(memory, '/a', [['fixed', 'g']]))).toEqual(DENIED);
    expect(await refusalOf(batch(memory, '/a', [['f', 'fixed']]))).toEqual(DENIED);
    expect(await refusalOf(batch(memory, '/a', [['secret', 'g']], blind))).toEqual(DENIED);
    expect(await refusalOf(batch(memory, '/a', [['secret-not-there', 'g']], blind))).toEqual(DENIED);
    expect(await refusalOf(batch(memory, '/a', [['f', 'secret2']], blind))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(['/a/f', '/a/fixed', '/a/secret', '/b/f']);
  });
});

describe('renaming by a pattern', () => {
  it('renames what matches, files and folders, and may shift names along', async () => {
    const memory = await filled('/a', 'f1', 'f2', 'g1');
    await memory.put('/a/fd/x');
    await regex(memory, '/a', '^f(.)', '$1');
    expect(await memory.everything('/a')).toEqual(['/a/1', '/a/2', '/a/d/x', '/a/g1']);
    await regex(memory, '/a', '^1$', '2x');
    await regex(memory, '/a', '^2(x?)$', '${1}2');
    expect(await textsIn(memory, '/a')).toEqual({ 2: 'f2', x2: 'f1', g1: 'g1', 'd/x': '/a/fd/x' });
  });

  it('is content with matches that keep their names', async () => {
    const memory = await filled('/a', 'f', 'g');
    await regex(memory, '/a', '.*', '$0');
    expect(memory.published).toEqual([]);
  });

  it.each([
    ['.', 'same', 'ENTRY_EXISTS', 'file [same] exists'],
    ['^f$', 'g', 'ENTRY_EXISTS', 'file [g] exists'],
    ['^f$', '', 'UNSAFE_PATH', 'using relative path is not allowed'],
    ['f', 'x/y', 'UNSAFE_PATH', 'using relative path is not allowed'],
    ['(f', 'x', 'FAILED_PRECONDITION', 'error parsing regexp: missing closing ): `(f`'],
  ])('%j by %j is refused whole', async (pattern, template, code, message) => {
    const memory = await filled('/a', 'f', 'g');
    expect(await refusalOf(regex(memory, '/a', pattern, template))).toEqual([code, message]);
    expect(await textsIn(memory, '/a')).toEqual({ f: 'f', g: 'g' });
  });

  it('does not touch what the caller does not see, and is refused for what the caller may not change', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a', hide: '^secret' },
        { path: '/a/fixed', write_users: [99] },
      ],
    });
    for (const path of ['/a/f', '/a/secret', '/a/fixed/x']) await memory.put(path);
    const blind = without('see_hides');
    expect(await refusalOf(regex(memory, '/a', '$', '-1', blind))).toEqual(DENIED);
    await regex(memory, '/a', '^[a-z]{1}$|^s.*', '${0}-1', blind);
    expect(await memory.everything('/a')).toEqual(['/a/f-1', '/a/fixed/x', '/a/secret']);
    expect(await refusalOf(regex(memory, '/a', 'x', 'y', without('rename')))).toEqual(DENIED);
  });

  it('needs a folder that is there', async () => {
    const memory = await filled('/a', 'f');
    expect(await refusalOf(regex(memory, '/a/f', 'x', 'y'))).toEqual(['NOT_A_DIRECTORY', 'not a folder']);
    expect((await refusalOf(regex(memory, '/a/none', 'x', 'y')))[0]).toBe('ENTRY_NOT_FOUND');
  });
});

describe('where case does not tell names apart', () => {
  const folding = async (...names: string[]) => {
    const memory = await openTree({ storages: [{ mount_path: '/f', addition: '{"profile":"case folding"}' }] });
    for (const name of names) await memory.put(`/f/d/${name}`, name);
    return memory;
  };

  it.each<[string, Pairs, Record<string, string>]>([
    ['gets another spelling', [['x', 'X']], { X: 'x', y: 'y' }],
    [
      'follows the one that leaves under another spelling',
      [
        ['y', 'X'],
        ['x', 'z'],
      ],
      { X: 'y', z: 'x' },
    ],
    [
      'swaps and is spelled otherwise',
      [
        ['x', 'Y'],
        ['y', 'X'],
      ],
      { Y: 'x', X: 'y' },
    ],
  ])('an entry %s', async (_what, pairs, outcome) => {
    const memory = await folding('x', 'y');
    await batch(memory, '/f/d', pairs);
    expect(await textsIn(memory, '/f/d')).toEqual(outcome);
  });

  it('two spellings of one name are refused before anything changes', async () => {
    const memory = await folding('x', 'y');
    const both: Pairs = [
      ['x', 'N'],
      ['y', 'n'],
    ];
    expect((await refusalOf(batch(memory, '/f/d', both)))[0]).toBe('ENTRY_EXISTS');
    expect(memory.published).toEqual([]);
  });

  it('one entry alone, a file or a folder, gets another spelling too', async () => {
    const memory = await folding('x');
    const operation = memory.operation();
    for (const overwrite of [false, true])
      await renameEntry(operation, { path: overwrite ? '/f/d/X' : '/f/d/x', name: overwrite ? 'x' : 'X', overwrite });
    await renameEntry(operation, { path: '/f/d', name: 'D', overwrite: false });
    expect(await memory.everything('/f')).toEqual(['/f/D/x']);
  });
});
