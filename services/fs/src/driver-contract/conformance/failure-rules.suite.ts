import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { MOUNT_ROOT } from '@wharf/paths';
import { expect } from 'vitest';
import type { CallOptions } from '../storage-driver.ts';
import { at, codeOf, collect, digest, entriesIn, namesIn, pattern, put, refuses, textOf } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

export function failureRules(rule: Rule): void {
  rule('a write that is aborted midway leaves the old file and nothing else', ['write'], async (driver) => {
    await put(driver, '/old', 'old');
    for (const path of ['/old', '/new']) {
      const abort = new AbortController();
      const content = (async function* () {
        for (let index = 0; index < 100; index++) {
          if (index === 40) abort.abort();
          yield pattern(100_000);
        }
      })();
      await refuses('CANCELLED', driver.write(at(path), content, { overwrite: true, signal: abort.signal }));
    }
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
  });
  rule('a write whose source has stalled ends when it is aborted', ['write'], async (driver) => {
    const abort = new AbortController();
    const stalled = (async function* () {
      yield pattern(100_000);
      setImmediate(() => abort.abort());
      await new Promise(() => undefined);
    })();
    await refuses('CANCELLED', driver.write(at('/new'), stalled, { overwrite: true, signal: abort.signal }));
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('a write whose source fails passes the error on, and leaves the old file and nothing else', ['write'], async (driver) => {
    await put(driver, '/old', 'old');
    const broken = new AppError('STORAGE_UNAVAILABLE', 'the source broke');
    for (const path of ['/old', '/new']) {
      const content = (async function* () {
        yield pattern(2_000_000);
        throw broken;
      })();
      await expect(driver.write(at(path), content, { overwrite: true })).rejects.toBe(broken);
    }
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
  });
  rule('a write that fails ends its source', ['write'], async (driver) => {
    let isEnded = false;
    const endless = (async function* () {
      try {
        for (;;) yield pattern(10_000);
      } finally {
        isEnded = true;
      }
    })();
    await refuses('INVALID_ARGUMENT', driver.write(at('/file'), endless, { overwrite: true, sizeBytes: 50_000 }));
    expect(isEnded).toBe(true);
  });
  rule('reading ends when it is aborted', ['write'], async (driver) => {
    await put(driver, '/file', pattern(8_000_000));
    const abort = new AbortController();
    const content = await driver.read(at('/file'), undefined, { signal: abort.signal });
    const reading = (async () => {
      for await (const _chunk of content) abort.abort();
    })();
    await refuses('CANCELLED', reading);
  });
  rule(
    'an aborted signal stops every call before it changes anything',
    ['write', 'makeDirectory', 'remove', 'rename', 'copy'],
    async (driver) => {
      await put(driver, '/a', 'a');
      const options: CallOptions = { signal: AbortSignal.abort() };
      await refuses('CANCELLED', driver.stat(at('/a'), options));
      await refuses('CANCELLED', entriesIn(driver, '/', options));
      await refuses('CANCELLED', driver.read(at('/a'), undefined, options));
      await refuses('CANCELLED', put(driver, '/b', 'b', options));
      await refuses('CANCELLED', driver.makeDirectory(at('/d'), options));
      await refuses('CANCELLED', driver.remove(at('/a'), { ...options, recursive: true }));
      await refuses('CANCELLED', driver.rename(at('/a'), at('/c'), { ...options, overwrite: true }));
      await refuses('CANCELLED', driver.copy(at('/a'), at('/c'), { ...options, overwrite: true }));
      expect(await namesIn(driver, '/')).toEqual(['a']);
    },
  );
  rule('the AppError that is the reason of an abort is what the call ends with', [], async (driver) => {
    const signal = AbortSignal.abort(new AppError('DEADLINE_EXCEEDED', 'too slow'));
    await refuses('DEADLINE_EXCEEDED', driver.stat(MOUNT_ROOT, { signal }));
  });
}

export function raceRules(rule: Rule): void {
  rule('of two writers of one path one wins whole', ['write'], async (driver) => {
    const contents = [1, 2, 3, 4].map((fill) => Buffer.alloc(1_500_000, fill));
    await Promise.all(contents.map((content) => put(driver, '/file', content)));
    const stored = await collect(await driver.read(at('/file')));
    expect(contents.map(digest)).toContain(digest(stored));
    expect(await namesIn(driver, '/')).toEqual(['file']);
  });
  rule(
    'of many writers of a new file exactly one wins where creating is exclusive, and one stays whole elsewhere',
    ['write'],
    async (driver) => {
      for (let round = 0; round < 5; round++) {
        const path = `/file-${round}`;
        const outcomes = await Promise.all(
          [0, 1, 2, 3, 4, 5].map((fill) => codeOf(put(driver, path, pattern(50_000, fill), { overwrite: false }))),
        );
        const winners = [0, 1, 2, 3, 4, 5].filter((fill) => outcomes[fill] === 'done');
        expect(outcomes.filter((outcome) => outcome === 'ENTRY_EXISTS')).toHaveLength(6 - winners.length);
        if (driver.traits.exclusiveCreate) expect(winners).toHaveLength(1);
        const stored = digest(await collect(await driver.read(at(path))));
        expect(winners.map((fill) => digest(pattern(50_000, fill)))).toContain(stored);
      }
    },
  );
  rule('of many renames to one new name exactly one wins', ['write', 'makeDirectory', 'rename'], async (driver) => {
    for (const kind of ['file', 'folder']) {
      const sources = [0, 1, 2, 3].map((index) => `/${kind}-${index}`);
      for (const path of sources) await (kind === 'file' ? put(driver, path, path) : driver.makeDirectory(at(path)));
      const outcomes = await Promise.all(sources.map((path) => codeOf(driver.rename(at(path), at(`/to-${kind}`), { overwrite: false }))));
      expect(outcomes.sort()).toEqual(['ENTRY_EXISTS', 'ENTRY_EXISTS', 'ENTRY_EXISTS', 'done']);
      expect((await namesIn(driver, '/')).filter((name) => name.startsWith(`${kind}-`))).toHaveLength(3);
    }
  });
  rule('many that make one folder all succeed', ['makeDirectory'], async (driver) => {
    await Promise.all(Array.from({ length: 10 }, () => driver.makeDirectory(at('/a/b/c'))));
    expect(await driver.stat(at('/a/b/c'))).toMatchObject({ isDirectory: true });
  });
  rule('entries that come and go do not break a listing', ['write', 'remove'], async (driver) => {
    for (let index = 0; index < 20; index++) await put(driver, `/d/stays-${index}`, 'x');
    let isChanging = true;
    const changing = (async () => {
      for (let index = 0; isChanging; index++) {
        await put(driver, `/d/passing-${index}`, 'x');
        await driver.remove(at(`/d/passing-${index}`), { recursive: false });
        // A storage that answers without waiting would leave no time to the listings.
        if (index % 8 === 7) await nextTurn();
      }
    })();
    try {
      for (let round = 0; round < 15; round++) {
        const names = await namesIn(driver, '/d');
        expect(names.filter((name) => name.startsWith('stays-'))).toHaveLength(20);
        expect(new Set(names).size).toBe(names.length);
      }
    } finally {
      isChanging = false;
      await changing;
    }
  });
}
