import { describe, expect, it } from 'vitest';
import { actor, type MemoryTree, openTree } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { DENIED, openStorages, without } from '../domain/testing/three-storages.ts';
import { flatten as recursiveMove } from './testing/place-now.ts';

const flatten = (memory: MemoryTree, src_dir: string, dst_dir: string, conflict_policy = '', who = actor()) =>
  recursiveMove(memory.operation(who), { src_dir, dst_dir, conflict_policy });

describe.each([
  ['/a/from', '/a/to'],
  ['/p/from', '/p/to'],
  ['/a/from', '/p/to'],
])('moving all files of %s to %s', (from, to) => {
  it('flattens them, leaves the folders, and counts', async () => {
    const memory = await openStorages();
    for (const path of ['1', 'd/2', 'd/e/3']) await memory.put(`${from}/${path}`, path);
    expect(await flatten(memory, from, to)).toBe(3);
    expect(await memory.everything()).toEqual([`${from}/d/e/`, `${to}/1`, `${to}/2`, `${to}/3`]);
    expect(await memory.textOf(`${to}/3`)).toBe('d/e/3');
    expect(memory.published.some((path) => path.startsWith(`${from}/d/e`))).toBe(true);
    expect(await flatten(memory, from, to)).toBe(0);
  });

  const clashing = async (): Promise<MemoryTree> => {
    const memory = await openStorages();
    for (const path of ['free', 'taken', 'd/twice', 'e/twice']) await memory.put(`${from}/${path}`, path);
    await memory.put(`${to}/taken`, 'old');
    return memory;
  };

  it.each(['', 'cancel', 'anything'])('with policy %j is refused whole where a name is taken', async (policy) => {
    const memory = await clashing();
    const before = await memory.everything();
    expect(await refusalOf(flatten(memory, from, to, policy))).toEqual(['ENTRY_EXISTS', 'file [taken] exists']);
    expect(await refusalOf(flatten(memory, `${from}`, `${to}/new`, policy))).toEqual(['ENTRY_EXISTS', 'file [twice] exists']);
    expect(await memory.everything()).toEqual(before);
  });

  it('with skip leaves the files whose names are taken', async () => {
    const memory = await clashing();
    expect(await flatten(memory, from, to, 'skip')).toBe(2);
    expect(await memory.everything(from)).toEqual([`${from}/d/`, `${from}/e/twice`, `${from}/taken`]);
    expect(await memory.everything(to)).toEqual([`${to}/free`, `${to}/taken`, `${to}/twice`]);
    expect(await memory.textOf(`${to}/taken`)).toBe('old');
  });

  it('with overwrite replaces files, but never a folder', async () => {
    const memory = await clashing();
    expect(await flatten(memory, from, to, 'overwrite')).toBe(4);
    expect(await memory.textOf(`${to}/taken`)).toBe('taken');
    expect(await memory.textOf(`${to}/twice`)).toBe('e/twice');
    await memory.put(`${from}/x`);
    await memory.put(`${to}/x/y`);
    expect(await refusalOf(flatten(memory, from, to, 'overwrite'))).toEqual(['ENTRY_EXISTS', 'file [x] exists']);
  });
});

describe('moving all files', () => {
  it('of a folder into itself or into one below leaves what is there', async () => {
    const memory = await openStorages();
    for (const path of ['/a/d/1', '/a/d/e/2', '/a/d/e/f/3']) await memory.put(path);
    expect(await flatten(memory, '/a/d', '/a/d/e')).toBe(2);
    expect(await memory.everything()).toEqual(['/a/d/e/1', '/a/d/e/2', '/a/d/e/3', '/a/d/e/f/']);
    expect(await flatten(memory, '/a/d', '/a/d')).toBe(3);
    expect(await memory.everything()).toEqual(['/a/d/1', '/a/d/2', '/a/d/3', '/a/d/e/f/']);
  });

  it.each(['', 'cancel', 'skip', 'overwrite'])('with policy %j does not tell whether a hidden name is taken', async (policy) => {
    const told = async (...there: string[]) => {
      const memory = await openStorages({ rules: [{ path: '/a/to', hide: 'secret' }] });
      for (const path of ['/a/from/secret', ...there]) await memory.put(path);
      const blind = actor({ permission: 0xfffe });
      const answers = [];
      for (const target of ['/a/to', '/a/to/secret']) answers.push(await refusalOf(flatten(memory, '/a/from', target, policy, blind)));
      return answers;
    };
    const free = await told();
    expect(free).toEqual([DENIED, DENIED]);
    expect(await told('/a/to/secret')).toEqual(free);
    expect(await told('/a/to/secret/secret')).toEqual(free);
  });

  it('goes through what is mounted below', async () => {
    const memory = await openTree({ storages: [{}, { mount_path: '/d/m/n' }, { mount_path: '/out' }] });
    for (const path of ['/d/1', '/d/m/n/x/2']) await memory.put(path);
    expect(await flatten(memory, '/d', '/out')).toBe(2);
    expect(await memory.everything('/out')).toEqual(['/out/1', '/out/2']);
  });

  it('leaves what the caller does not see, and is refused where a rule stops the caller', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a', hide: '^secret', h_sub: true },
        { path: '/a/locked', password: 'pw', p_sub: true },
        { path: '/b/fixed', write_users: [99] },
      ],
    });
    for (const path of ['/a/d/1', '/a/d/secret', '/a/d/secrets/2', '/a/e/locked/3', '/a/locked/4']) await memory.put(path);
    const plain = actor({ permission: 0xfffc });
    expect(await refusalOf(flatten(memory, '/a/d', '/b/fixed', '', plain))).toEqual(DENIED);
    expect(await refusalOf(flatten(memory, '/a', '/b', '', plain))).toEqual(DENIED);
    expect(await refusalOf(flatten(memory, '/a/d', '/b', '', without('move')))).toEqual(DENIED);
    expect(await flatten(memory, '/a/d', '/b', '', plain)).toBe(1);
    expect(await memory.everything()).toEqual(['/a/d/secret', '/a/d/secrets/2', '/a/e/locked/3', '/a/locked/4', '/b/1']);
  });

  it('needs a folder that is there', async () => {
    const memory = await openStorages();
    await memory.put('/a/f');
    expect((await refusalOf(flatten(memory, '/a/none', '/b')))[0]).toBe('ENTRY_NOT_FOUND');
    expect((await refusalOf(flatten(memory, '/a/f', '/b')))[0]).toBe('NOT_A_DIRECTORY');
    expect((await refusalOf(flatten(memory, '/a/../b', '/b')))[0]).toBe('UNSAFE_PATH');
  });
});
