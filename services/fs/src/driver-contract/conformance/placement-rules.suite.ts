import { AppError } from '@wharf/errors';
import { MOUNT_ROOT, nameAt } from '@wharf/paths';
import { expect } from 'vitest';
import { folderNamed } from '../folder-named.ts';
import { isUnchanged } from '../unchanged.ts';
import { at, codeOf, collect, digest, namesIn, pattern, put, refuses, textOf } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

/** Of drivers that look before they change something: their looks may take long. */
export function wantedRules(rule: Rule): void {
  const refusal = new AppError('PERMISSION_DENIED', 'not any more');
  const asking = { afterWaiting: () => Promise.reject(refusal) };
  rule('what is wanted no more after the looks is not made, placed or removed', ['write', 'makeDirectory', 'remove'], async (driver) => {
    await put(driver, '/d/kept', 'old');
    await expect(put(driver, '/d/kept', 'new', asking)).rejects.toBe(refusal);
    await expect(put(driver, '/d/new', 'new', asking)).rejects.toBe(refusal);
    await expect(driver.makeDirectory(at('/folder'), asking)).rejects.toBe(refusal);
    for (const recursive of [false, true]) await expect(driver.remove(at('/d/kept'), { recursive, ...asking })).rejects.toBe(refusal);
    expect([await namesIn(driver, '/'), await namesIn(driver, '/d'), await textOf(driver, '/d/kept')]).toEqual([['d'], ['kept'], 'old']);
  });
  rule('what is wanted no more after the looks is not renamed', ['write', 'rename'], async (driver) => {
    await put(driver, '/d/kept', 'old');
    await expect(driver.rename(at('/d/kept'), at('/d/new'), { overwrite: false, ...asking })).rejects.toBe(refusal);
    expect(await namesIn(driver, '/d')).toEqual(['kept']);
  });
  rule('what is wanted no more after the looks, or after it was copied aside, is not copied', ['write', 'copy'], async (driver) => {
    await put(driver, '/d/kept', 'old');
    await expect(driver.copy(at('/d/kept'), at('/d/new'), { overwrite: false, ...asking })).rejects.toBe(refusal);
    expect(await namesIn(driver, '/d')).toEqual(['kept']);
  });
}

export function folderRules(rule: Rule): void {
  rule('a folder is made with those above it', ['makeDirectory'], async (driver) => {
    expect(await driver.makeDirectory(at('/a/b/c'))).toMatchObject({ name: 'c', isDirectory: true });
    if (!driver.traits.keepsEmptyDirectories) return;
    expect(await namesIn(driver, '/a')).toEqual(['b']);
    expect(await namesIn(driver, '/a/b/c')).toEqual([]);
  });
  rule('making a folder that exists is success', ['makeDirectory', 'write'], async (driver) => {
    await put(driver, '/a/file', 'x');
    expect(await driver.makeDirectory(at('/a'))).toMatchObject({ name: 'a', isDirectory: true });
    expect(await driver.makeDirectory(MOUNT_ROOT)).toMatchObject({ isDirectory: true });
    expect(await namesIn(driver, '/a')).toEqual(['file']);
  });
  rule('a folder cannot take the place of a file', ['makeDirectory', 'write'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('ENTRY_EXISTS', driver.makeDirectory(at('/file')));
    await refuses('NOT_A_DIRECTORY', driver.makeDirectory(at('/file/below')));
    expect(await textOf(driver, '/file')).toBe('x');
  });
  rule('a removed file is gone', ['write', 'remove'], async (driver) => {
    await put(driver, '/d/file', 'x');
    await driver.remove(at('/d/file'), { recursive: false });
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/d/file')));
    await refuses('ENTRY_NOT_FOUND', driver.remove(at('/d/file'), { recursive: true }));
  });
  rule('a folder stays when all that it holds is removed at once', ['write', 'remove'], async (driver) => {
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await put(driver, `/d/${name}`, name);
    await Promise.all(names.map((name) => driver.remove(at(`/d/${name}`), { recursive: false })));
    if (driver.traits.keepsEmptyDirectories) expect(await namesIn(driver, '/d')).toEqual([]);
  });
  rule('a folder with entries goes only when asked for', ['write', 'makeDirectory', 'remove'], async (driver) => {
    await put(driver, '/d/e/file', 'x');
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/d'), { recursive: false }));
    expect(await textOf(driver, '/d/e/file')).toBe('x');
    await driver.makeDirectory(at('/empty'));
    await driver.remove(at('/empty'), { recursive: false });
    await driver.remove(at('/d'), { recursive: true });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('a folder with what cannot be listed is not empty', ['makeDirectory', 'remove', 'rename'], async (driver, { seedUnlistable }) => {
    if (!seedUnlistable) return;
    await driver.makeDirectory(at('/d'));
    await driver.makeDirectory(at('/empty'));
    const kept = await seedUnlistable('/d');
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/d'), { recursive: false }));
    expect(await kept()).toBe('precious');
    await refuses('DIRECTORY_NOT_EMPTY', driver.rename(at('/empty'), at('/d'), { overwrite: true }));
    expect(await kept()).toBe('precious');
  });
  rule(
    'nothing is stored, made or removed while the folder of the storage is away',
    ['write', 'makeDirectory', 'remove'],
    async (driver, { takeRootAway }) => {
      if (!takeRootAway) return;
      await put(driver, '/d/file', 'x');
      const bringBack = await takeRootAway();
      // That it is there may be known for a moment.
      const away = ['STORAGE_UNAVAILABLE', 'ENTRY_NOT_FOUND'];
      expect(away).toContain(await codeOf(driver.stat(MOUNT_ROOT)));
      const calls = [
        ...['/new', '/d/new', '/e/new'].map((path) => put(driver, path, 'y')),
        driver.makeDirectory(at('/made')),
        ...['/d/file', '/d', '/none'].map((path) => driver.remove(at(path), { recursive: true })),
      ];
      for (const code of await Promise.all(calls.map(codeOf))) expect(away).toContain(code);
      await bringBack();
      expect([await namesIn(driver, '/'), await namesIn(driver, '/d')]).toEqual([['d'], ['file']]);
    },
  );
  rule('a folder that goes in steps goes on as long as it is let', ['write', 'remove'], async (driver) => {
    const files = ['/d/a', '/d/e/b', '/d/e/f/c'];
    for (const path of files) await put(driver, path, path);
    const refusal = new AppError('FAILED_PRECONDITION', 'not any more');
    const asked: number[] = [];
    const refused = driver.remove(at('/d'), {
      recursive: true,
      beforeStep: async (removed) => {
        asked.push(removed);
        throw refusal;
      },
    });
    if (!driver.traits.removesStepwise) {
      await refused;
      expect(asked).toEqual([]);
      return;
    }
    await expect(refused).rejects.toBe(refusal);
    expect(asked).toEqual([0]);
    for (const path of files) expect(await textOf(driver, path)).toBe(path);
    const counts: number[] = [];
    const beforeStep = async (removed: number) => void counts.push(removed);
    await driver.remove(at('/d'), { recursive: true, beforeStep });
    expect(counts[0]).toBe(0);
    expect(counts.toSorted((one, other) => one - other)).toEqual(counts);
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule(
    'a removal that has begun takes what was there, and leaves what came since',
    ['beginRemoval', 'write', 'makeDirectory', 'remove'],
    async (driver) => {
      for (const path of ['/d/a', '/d/e/b', '/d/e/c', '/file', '/beside']) await put(driver, path, 'old');
      const paths = [at('/d'), at('/file'), at('/none')];
      const [folder, file, none] = await driver.beginRemoval(paths);
      expect(typeof folder).toBe('string');
      // What is not there may be told later.
      if (typeof none === 'string') await refuses('ENTRY_NOT_FOUND', driver.remove(at('/none'), { recursive: true, begun: none }));
      else expect(none).toMatchObject({ code: 'ENTRY_NOT_FOUND' });
      await driver.makeDirectory(at('/d/made'));
      await put(driver, '/d/e/c', 'new');
      await put(driver, '/file', 'new');
      for (const [index, begun] of [folder, file].entries()) {
        if (typeof begun === 'string') await driver.remove(paths[index] ?? at('/'), { recursive: true, begun }).catch(isStale);
      }
      expect((await namesIn(driver, '/')).sort()).toEqual(['beside', 'd', 'file']);
      expect([await textOf(driver, '/d/e/c'), await textOf(driver, '/file'), await textOf(driver, '/beside')]).toEqual([
        'new',
        'new',
        'old',
      ]);
      expect([(await namesIn(driver, '/d')).sort(), await namesIn(driver, '/d/e')]).toEqual([['e', 'made'], ['c']]);
      // Whoever goes on may do so twice.
      if (typeof folder === 'string') await driver.remove(at('/d'), { recursive: true, begun: folder }).catch(isStale);
      expect(await textOf(driver, '/d/e/c')).toBe('new');
      await driver.remove(at('/d'), { recursive: true });
      expect((await namesIn(driver, '/')).sort()).toEqual(['beside', 'file']);
    },
  );
  rule('a removal that has begun takes nothing of another place', ['beginRemoval', 'write', 'remove'], async (driver) => {
    for (const path of ['/d/a', '/e/a', '/f']) await put(driver, path, path);
    const [begun] = await driver.beginRemoval([at('/d')]);
    if (typeof begun !== 'string') throw new Error('it has not begun');
    const isElsewhere = (error: unknown) => {
      if (!AppError.is(error, 'FAILED_PRECONDITION') && !AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
    };
    // Where the folder has lost its name it is found all the same, and not a second time.
    for (const path of ['/e', '/f']) await driver.remove(at(path), { recursive: true, begun }).catch(isElsewhere);
    for (const other of ['', 'another', '{"untilMs":8640000000000000,"spared":[]}', '["another"]'])
      await refuses('FAILED_PRECONDITION', driver.remove(at('/e'), { recursive: true, begun: other }));
    expect([await textOf(driver, '/e/a'), await textOf(driver, '/f')]).toEqual(['/e/a', '/f']);
  });
  rule(
    'what removals begin with, and nothing comes after, goes whole',
    ['beginRemoval', 'write', 'makeDirectory', 'remove'],
    async (driver) => {
      for (const path of ['/a/d/e/f', '/a/g', '/a/stays']) await put(driver, path, path);
      await driver.makeDirectory(at('/a/empty'));
      const paths = [at('/a/d'), at('/a/g'), at('/a/empty')];
      const begun = await driver.beginRemoval(paths);
      for (const [index, path] of paths.entries()) {
        const answer = begun[index];
        if (typeof answer === 'string') await driver.remove(path, { recursive: true, begun: answer });
        else expect(answer).toBeUndefined();
      }
      expect(await namesIn(driver, '/a')).toEqual(['stays']);
      await driver.remove(at('/a'), { recursive: true });
      expect(await namesIn(driver, '/')).toEqual([]);
    },
  );
  rule('the root cannot be removed', ['write', 'remove'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('INVALID_ARGUMENT', driver.remove(MOUNT_ROOT, { recursive: true }));
    expect(await textOf(driver, '/file')).toBe('x');
  });
}

export function renameRules(rule: Rule): void {
  rule('a file moves with its content and date', ['write', 'makeDirectory', 'rename'], async (driver) => {
    const before = await put(driver, '/a', 'hello');
    await driver.makeDirectory(at('/d'));
    const after = await driver.rename(at('/a'), at('/d/b'), { overwrite: false });
    expect(after).toMatchObject({ name: 'b', sizeBytes: before.sizeBytes, modifiedAt: before.modifiedAt });
    // By that a move that is taken back is told from what somebody else has stored since.
    expect(isUnchanged(after, await driver.stat(at('/d/b')))).toBe(true);
    expect(await textOf(driver, '/d/b')).toBe('hello');
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/a')));
  });
  rule('a folder moves with all it holds', ['write', 'rename'], async (driver) => {
    await put(driver, '/d/e/file', 'x');
    expect(await driver.rename(at('/d'), at('/f'), { overwrite: false })).toMatchObject({ name: 'f', isDirectory: true });
    expect(await textOf(driver, '/f/e/file')).toBe('x');
    expect(await namesIn(driver, '/')).toEqual(['f']);
  });
  rule('a rename refuses an existing name unless asked', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'b');
    await driver.makeDirectory(at('/d'));
    await driver.makeDirectory(at('/empty'));
    await refuses('ENTRY_EXISTS', driver.rename(at('/a'), at('/b'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.rename(at('/a'), at('/d'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.rename(at('/d'), at('/b'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.rename(at('/d'), at('/empty'), { overwrite: false }));
    expect([await textOf(driver, '/a'), await textOf(driver, '/b')]).toEqual(['a', 'b']);
    expect((await namesIn(driver, '/')).sort()).toEqual(['a', 'b', 'd', 'empty']);
  });
  rule('a rename replaces an existing file when asked', ['write', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'b');
    await driver.rename(at('/a'), at('/b'), { overwrite: true });
    expect(await textOf(driver, '/b')).toBe('a');
    expect(await namesIn(driver, '/')).toEqual(['b']);
  });
  rule('a rename never mixes kinds or buries a full folder', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/file', 'x');
    await put(driver, '/full/file', 'y');
    await driver.makeDirectory(at('/d'));
    await refuses('IS_A_DIRECTORY', driver.rename(at('/file'), at('/d'), { overwrite: true }));
    await refuses('NOT_A_DIRECTORY', driver.rename(at('/d'), at('/file'), { overwrite: true }));
    await refuses('DIRECTORY_NOT_EMPTY', driver.rename(at('/d'), at('/full'), { overwrite: true }));
    expect(await textOf(driver, '/full/file')).toBe('y');
    await driver.rename(at('/full'), at('/d'), { overwrite: true });
    expect(await textOf(driver, '/d/file')).toBe('y');
  });
  rule('a folder does not move into itself', ['write', 'rename'], async (driver) => {
    await put(driver, '/d/file', 'x');
    await refuses('INVALID_ARGUMENT', driver.rename(at('/d'), at('/d/e'), { overwrite: false }));
    await refuses('INVALID_ARGUMENT', driver.rename(MOUNT_ROOT, at('/d/e'), { overwrite: true }));
    expect(await textOf(driver, '/d/file')).toBe('x');
  });
  rule('a rename onto itself changes nothing', ['write', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    expect(await driver.rename(at('/a'), at('/a'), { overwrite: false })).toMatchObject({ name: 'a' });
    expect(await driver.rename(at('/a'), at('/a'), { overwrite: true })).toMatchObject({ name: 'a' });
    expect(await textOf(driver, '/a')).toBe('a');
  });
  rule('a rename needs its source and the folder of its target', ['write', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    await refuses('ENTRY_NOT_FOUND', driver.rename(at('/none'), at('/b'), { overwrite: true }));
    await refuses('ENTRY_NOT_FOUND', driver.rename(at('/none'), at('/none'), { overwrite: true }));
    await refuses('ENTRY_NOT_FOUND', driver.rename(at('/a'), at('/none/b'), { overwrite: true }));
    await put(driver, '/file', 'x');
    await refuses('NOT_A_DIRECTORY', driver.rename(at('/a'), at('/file/b'), { overwrite: true }));
    expect(await textOf(driver, '/a')).toBe('a');
  });
}

export function copyRules(rule: Rule): void {
  rule('a copied file is another file with the same content and date', ['write', 'copy'], async (driver) => {
    const content = pattern(2_100_000);
    const before = await put(driver, '/a', content);
    const copied = await driver.copy(at('/a'), at('/b'), { overwrite: false });
    expect(copied).toMatchObject({ name: 'b', sizeBytes: before.sizeBytes });
    if (driver.traits.modTimeStepMs !== undefined) expect(copied.modifiedAt).toEqual(before.modifiedAt);
    await put(driver, '/a', 'changed');
    expect(digest(await collect(await driver.read(at('/b'))))).toBe(digest(content));
  });
  rule('a copied file is what the copy answers', ['write', 'copy', 'remove'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'another');
    for (const to of ['/b', '/c']) {
      const copied = await driver.copy(at('/a'), at(to), { overwrite: true });
      await driver.remove(at(to), { recursive: false, onlyIf: copied });
    }
    expect(await namesIn(driver, '/')).toEqual(['a']);
  });
  rule('of several that are to have one name at once, and to replace nothing, one has it', ['write', 'copy'], async (driver) => {
    for (const name of ['a', 'b']) await put(driver, `/${name}`, `content of ${name}`);
    for (let round = 0; round < 3; round += 1) {
      const to = `/to ${round}`;
      const copy = (from: string) => driver.copy(at(from), at(to), { overwrite: false }).then(() => `content of ${from.slice(1)}`);
      const written = put(driver, to, 'content that is written', { overwrite: false }).then(() => 'content that is written');
      const outcomes = await Promise.allSettled([copy('/a'), copy('/b'), written]);
      const taken = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(taken).toEqual([await textOf(driver, to)]);
    }
  });
  rule('a folder is copied with all it holds', ['write', 'makeDirectory', 'copy'], async (driver) => {
    await put(driver, '/d/e/file', 'x');
    await put(driver, '/d/top', 'y');
    await driver.makeDirectory(at('/d/empty'));
    if (!driver.traits.copiesFolders) {
      await refuses('UNSUPPORTED_OPERATION', driver.copy(at('/d'), at('/f'), { overwrite: false }));
      expect(await namesIn(driver, '/')).toEqual(['d']);
      return;
    }
    expect(await driver.copy(at('/d'), at('/f'), { overwrite: false })).toMatchObject({ name: 'f', isDirectory: true });
    expect(await textOf(driver, '/f/e/file')).toBe('x');
    const expected = driver.traits.keepsEmptyDirectories ? ['e', 'empty', 'top'] : ['e', 'top'];
    expect((await namesIn(driver, '/f')).sort()).toEqual(expected);
    expect((await namesIn(driver, '/')).sort()).toEqual(['d', 'f']);
  });
  rule('a copy refuses an existing name unless asked', ['write', 'makeDirectory', 'copy'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'b');
    await driver.makeDirectory(at('/d'));
    await refuses('ENTRY_EXISTS', driver.copy(at('/a'), at('/b'), { overwrite: false }));
    const ofFolders = driver.traits.copiesFolders ? 'ENTRY_EXISTS' : 'UNSUPPORTED_OPERATION';
    await refuses(ofFolders, driver.copy(at('/d'), at('/b'), { overwrite: true }));
    await refuses('IS_A_DIRECTORY', driver.copy(at('/a'), at('/d'), { overwrite: true }));
    expect(await textOf(driver, '/b')).toBe('b');
    await driver.copy(at('/a'), at('/b'), { overwrite: true });
    expect(await textOf(driver, '/b')).toBe('a');
  });
  rule('a copy onto or into itself is refused', ['write', 'copy'], async (driver) => {
    await put(driver, '/d/file', 'x');
    await refuses('ENTRY_EXISTS', driver.copy(at('/d/file'), at('/d/file'), { overwrite: true }));
    await refuses('ENTRY_EXISTS', driver.copy(at('/d'), at('/d'), { overwrite: true }));
    await refuses('INVALID_ARGUMENT', driver.copy(at('/d'), at('/d/e'), { overwrite: false }));
    await refuses('INVALID_ARGUMENT', driver.copy(MOUNT_ROOT, at('/e'), { overwrite: false }));
    expect(await namesIn(driver, '/d')).toEqual(['file']);
  });
  rule('a copy needs its source and the folder of its target', ['write', 'copy'], async (driver) => {
    await put(driver, '/a', 'a');
    await refuses('ENTRY_NOT_FOUND', driver.copy(at('/none'), at('/b'), { overwrite: true }));
    await refuses('ENTRY_NOT_FOUND', driver.copy(at('/a'), at('/none/b'), { overwrite: true }));
    expect(await namesIn(driver, '/')).toEqual(['a']);
  });
}

/** For `remove` of what has begun to go: something came since, and stays. Or nothing is left of it. */
function isStale(error: unknown): void {
  if (!AppError.is(error, 'STALE_VERSION') && !AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
}

export function conditionRules(rule: Rule): void {
  rule('a file that is removed as it was goes', ['write', 'remove'], async (driver) => {
    await put(driver, '/d/file', 'text');
    await driver.remove(at('/d/file'), { recursive: false, onlyIf: await driver.stat(at('/d/file')) });
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/d/file')));
    if (driver.traits.keepsEmptyDirectories) expect(await namesIn(driver, '/d')).toEqual([]);
  });
  rule('a file that is another one by now stays, whatever it was removed as', ['write', 'remove'], async (driver) => {
    await put(driver, '/d/file', 'before');
    const before = await driver.stat(at('/d/file'));
    await put(driver, '/d/file', 'after that', { modifiedAt: new Date(Date.UTC(2020, 0, 1)) });
    await refuses('STALE_VERSION', driver.remove(at('/d/file'), { recursive: false, onlyIf: before }));
    expect(await textOf(driver, '/d/file')).toBe('after that');
    expect(await namesIn(driver, '/d')).toEqual(['file']);
  });
  rule('so does one of a long name, and a folder that has the name by now', ['write', 'makeDirectory', 'remove'], async (driver) => {
    const name = 'x'.repeat(Math.min(driver.traits.maxNameBytes, 120));
    await put(driver, `/d/${name}`, 'before');
    const before = await driver.stat(at(`/d/${name}`));
    await put(driver, `/d/${name}`, 'after that', { modifiedAt: new Date(Date.UTC(2020, 0, 1)) });
    await refuses('STALE_VERSION', driver.remove(at(`/d/${name}`), { recursive: false, onlyIf: before }));
    await driver.remove(at(`/d/${name}`), { recursive: false, onlyIf: await driver.stat(at(`/d/${name}`)) });
    await refuses('ENTRY_NOT_FOUND', driver.stat(at(`/d/${name}`)));
    await driver.makeDirectory(at(`/d/${name}`));
    await refuses('STALE_VERSION', driver.remove(at(`/d/${name}`), { recursive: true, onlyIf: before }));
    expect(await namesIn(driver, '/d')).toEqual([name]);
  });
  rule('what is to go as an empty folder goes if it is one', ['write', 'makeDirectory', 'remove'], async (driver) => {
    const remove = (path: string) => driver.remove(at(path), { recursive: false, onlyIf: folderNamed(nameAt(at(path))) });
    await put(driver, '/d/file', 'stored in its place');
    await driver.makeDirectory(at('/d/empty'));
    await refuses('STALE_VERSION', remove('/d/file'));
    await refuses('DIRECTORY_NOT_EMPTY', remove('/d'));
    if (driver.traits.keepsEmptyDirectories) await remove('/d/empty');
    await refuses('ENTRY_NOT_FOUND', remove('/d/none'));
    expect(await namesIn(driver, '/d')).toEqual(['file']);
    expect(await textOf(driver, '/d/file')).toBe('stored in its place');
  });
}
