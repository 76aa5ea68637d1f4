import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { expect } from 'vitest';
import { at, codeOf, collect, digest, namesIn, pattern, put, refuses, text, textOf } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

const CHUNK_EDGES_BYTES = [0, 1, 65_535, 65_536, 65_537, 1_048_575, 1_048_576, 1_048_577, 3_000_001];

export function contentRules(rule: Rule): void {
  pieceRules(rule);
  rangeRules(rule);
  publishingRules(rule);
  refusalRules(rule);
  manyRules(rule);
}

function manyRules(rule: Rule): void {
  const always = { mayPublishUntil: async () => Number.POSITIVE_INFINITY };
  rule(
    'several small files are read in one call, and those that cannot be are left out',
    ['readMany', 'write', 'makeDirectory'],
    async (driver) => {
      await put(driver, '/a', 'first');
      await put(driver, '/d/b', pattern(10_000));
      await put(driver, '/empty', '');
      await put(driver, '/big', pattern(10_001));
      await driver.makeDirectory(at('/folder'));
      const files = ['/a', '/none', '/d/b', '/big', '/folder', '/empty', '/a'].map(at);
      const read = await driver.readMany(files, { maxBytes: 10_000 });
      expect(read.map((file) => file && digest(file.bytes))).toEqual(
        ['first', undefined, pattern(10_000), undefined, undefined, '', 'first'].map((bytes) =>
          bytes === undefined ? undefined : digest(Buffer.from(bytes)),
        ),
      );
      expect(read[2]?.entry).toEqual(await driver.stat(at('/d/b')));
      await refuses('CANCELLED', driver.readMany(files, { maxBytes: 10_000, signal: AbortSignal.abort() }));
    },
  );
  rule(
    'several small files are stored in one call, and one that fails fails no other one',
    ['writeMany', 'write', 'makeDirectory'],
    async (driver) => {
      const modifiedAt = new Date('2021-03-04T05:06:07Z');
      await put(driver, '/old', 'old');
      await put(driver, '/kept', 'kept');
      await driver.makeDirectory(at('/folder'));
      const file = (path: string, content: string, overwrite = true) => ({
        file: at(path),
        content: Buffer.from(content),
        overwrite,
        modifiedAt,
        ...always,
      });
      const stored = await driver.writeMany([
        file('/old', 'new'),
        file('/kept', 'x', false),
        file('/folder', 'x'),
        file('/new/deep/file', 'of its own', false),
        file('/old/below', 'x'),
        file('/empty', ''),
      ]);
      expect(stored.map((outcome) => (outcome instanceof Error ? outcome.code : outcome.name))).toEqual([
        'old',
        'ENTRY_EXISTS',
        'IS_A_DIRECTORY',
        'file',
        'NOT_A_DIRECTORY',
        'empty',
      ]);
      expect(stored[3]).toEqual(await driver.stat(at('/new/deep/file')));
      if (driver.traits.modTimeStepMs !== undefined) expect(stored[0]).toMatchObject({ modifiedAt });
      expect(await Promise.all(['/old', '/kept', '/new/deep/file', '/empty'].map((path) => textOf(driver, path)))).toEqual([
        'new',
        'kept',
        'of its own',
        '',
      ]);
      expect((await namesIn(driver, '/')).sort()).toEqual(['empty', 'folder', 'kept', 'new', 'old']);
    },
  );
  rule('several small files get no name where that is refused', ['writeMany', 'write'], async (driver) => {
    await put(driver, '/old', 'old');
    const refusal = new AppError('CANCELLED', 'no');
    const refused = { mayPublishUntil: () => Promise.reject(refusal) };
    const file = (path: string, may: typeof always) => ({ file: at(path), content: Buffer.from('new'), overwrite: true, ...may });
    expect(await driver.writeMany(['/old', '/new'].map((path) => file(path, refused)))).toEqual([refusal, refusal]);
    const signal = AbortSignal.abort();
    await refuses(
      'CANCELLED',
      driver.writeMany(
        ['/old', '/new'].map((path) => file(path, always)),
        { signal },
      ),
    );
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
    const [kept, stored] = await driver.writeMany([file('/old', refused), file('/new', always)]);
    expect([kept, stored]).toEqual([refusal, await driver.stat(at('/new'))]);
    expect([await textOf(driver, '/old'), await textOf(driver, '/new')]).toEqual(['old', 'new']);
  });
}

function pieceRules(rule: Rule): void {
  for (const sizeBytes of CHUNK_EDGES_BYTES) {
    rule(`${sizeBytes} bytes come back as they went`, ['write'], async (driver) => {
      const content = pattern(sizeBytes);
      expect([sizeBytes, undefined]).toContain((await put(driver, '/file', content, { sizeBytes })).sizeBytes);
      const [read, seen] = [await driver.read(at('/file')), await driver.stat(at('/file'))];
      const isToldByContent = sizeBytes === 0 && seen.sizeBytes === undefined;
      expect(read.entry).toEqual(isToldByContent ? { ...seen, sizeBytes: read.entry.sizeBytes } : seen);
      expect([sizeBytes, undefined]).toContain(read.entry.sizeBytes);
      expect(digest(await collect(read))).toBe(digest(content));
    });
  }
  rule('a chunk is right until the next one is asked for', ['write'], async (driver) => {
    const content = pattern(5_500_000);
    await put(driver, '/file', content);
    const hash = createHash('sha256');
    for await (const chunk of await driver.read(at('/file'), { offsetBytes: 100 })) {
      await setImmediate();
      hash.update(chunk);
    }
    expect(hash.digest('hex')).toBe(digest(content.subarray(100)));
  });
  rule('a piece is only lent until the next one is asked for', ['write'], async (driver) => {
    const content = pattern(3_000_001);
    const lent = async function* () {
      for (const [start, end] of [
        [0, 1],
        [1, 65_537],
        [65_537, 270_000],
        [270_000, 1_400_000],
        [1_400_000, 3_000_001],
      ]) {
        const piece = Buffer.from(content.subarray(start, end));
        yield piece;
        piece.fill(0);
      }
    };
    await driver.write(at('/file'), lent(), { overwrite: false });
    expect(digest(await collect(await driver.read(at('/file'))))).toBe(digest(content));
  });
}

function rangeRules(rule: Rule): void {
  rule('a range gives exactly its bytes', ['write'], async (driver) => {
    const content = pattern(2_500_000);
    await put(driver, '/file', content);
    for (const [offsetBytes, lengthBytes] of [
      [0, 1],
      [0, 2_500_000],
      [1, 10],
      [65_535, 2],
      [1_048_575, 1_048_578],
      [2_499_999, 1],
      [5, 0],
    ] as const) {
      const bytes = await collect(await driver.read(at('/file'), { offsetBytes, lengthBytes }));
      expect(digest(bytes)).toBe(digest(content.subarray(offsetBytes, offsetBytes + lengthBytes)));
    }
    expect(await collect(await driver.read(at('/file'), { offsetBytes: 2_499_990 }))).toHaveLength(10);
  });
  rule('a range past the end gives what is there', ['write'], async (driver) => {
    await put(driver, '/file', 'hello');
    expect(text(await collect(await driver.read(at('/file'), { offsetBytes: 3, lengthBytes: 1000 })))).toBe('lo');
    await put(driver, '/empty', '');
    expect(await collect(await driver.read(at('/empty'), { offsetBytes: 0, lengthBytes: 1000 }))).toHaveLength(0);
  });
  rule('a range that begins at or behind the end is refused', ['write'], async (driver) => {
    await put(driver, '/file', 'hello');
    await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/file'), { offsetBytes: 5 }));
    await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/file'), { offsetBytes: 6, lengthBytes: 1 }));
    await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/file'), { offsetBytes: Number.MAX_SAFE_INTEGER }));
    await refuses('INVALID_ARGUMENT', driver.read(at('/file'), { offsetBytes: -1 }));
    await refuses('INVALID_ARGUMENT', driver.read(at('/file'), { offsetBytes: 0, lengthBytes: -1 }));
    await refuses('INVALID_ARGUMENT', driver.read(at('/file'), { offsetBytes: 0.5 }));
  });
  rule('reading may end early, and the file is free again', ['write', 'remove'], async (driver) => {
    await put(driver, '/file', pattern(5_000_000));
    for (let round = 0; round < 20; round++) {
      for await (const chunk of await driver.read(at('/file'))) {
        expect(chunk.byteLength).toBeGreaterThan(0);
        break;
      }
    }
    await driver.remove(at('/file'), { recursive: false });
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/file')));
  });
  rule('a reader that has begun sees one file, also when it is replaced', ['write'], async (driver) => {
    const [old, next] = [pattern(3_000_000), Buffer.alloc(3_000_000, 7)];
    await put(driver, '/file', old);
    const chunks: Uint8Array[] = [];
    let outcome = '';
    for await (const chunk of await driver.read(at('/file'))) {
      if (chunks.length === 0) outcome = await codeOf(put(driver, '/file', next));
      chunks.push(Uint8Array.from(chunk));
    }
    expect(digest(Buffer.concat(chunks))).toBe(digest(old));
    // Where all was on its way already, nobody reads any more.
    expect(driver.traits.locksOpenFiles ? ['done', 'FAILED_PRECONDITION'] : ['done']).toContain(outcome);
    if (outcome !== 'done') await put(driver, '/file', next);
    expect(digest(await collect(await driver.read(at('/file'))))).toBe(digest(next));
    expect(await namesIn(driver, '/')).toEqual(['file']);
  });
}

function publishingRules(rule: Rule): void {
  rule('an existing file is replaced when asked', ['write'], async (driver) => {
    await put(driver, '/file', pattern(100_000));
    await put(driver, '/file', 'short');
    expect(await textOf(driver, '/file')).toBe('short');
    expect(await namesIn(driver, '/')).toEqual(['file']);
  });
  rule('a write asks for the last time when its content is complete, before the file has its name', ['write'], async (driver) => {
    let isComplete = false;
    const content = async function* () {
      yield Buffer.from('new');
      isComplete = true;
    };
    const write = (path: string, beforePublish: () => Promise<void>) =>
      driver.write(at(path), content(), { overwrite: true, beforePublish });
    for (const path of ['/file', '/d/new']) {
      await put(driver, '/file', 'old');
      const refusal = new Error('no');
      await expect(
        write(path, async () => {
          expect(isComplete).toBe(true);
          throw refusal;
        }),
      ).rejects.toBe(refusal);
      expect(await textOf(driver, '/file')).toBe('old');
      await refuses('ENTRY_NOT_FOUND', driver.stat(at('/d/new')));
    }
    for (const path of ['/file', '/d/new']) {
      await write(path, async () => {});
      expect(await textOf(driver, path)).toBe('new');
    }
  });
  rule('a write whose name was given to something else while it asked asks again', ['write'], async (driver) => {
    const answers = ['old', 'of another', 'of a third'];
    const texts: string[] = [];
    await put(driver, '/file', answers.shift() ?? '');
    await put(driver, '/file', 'new', {
      async beforePublish() {
        texts.push(await textOf(driver, '/file'));
        const next = answers.shift();
        if (next !== undefined) await put(driver, '/file', next);
      },
    });
    expect(texts).toEqual(['old', 'of another', 'of a third']);
    expect(await textOf(driver, '/file')).toBe('new');
    await put(driver, '/file', 'old');
    await expect(
      put(driver, '/file', 'late', {
        async beforePublish() {
          if ((await textOf(driver, '/file')) !== 'old') throw new Error('lost');
          await put(driver, '/file', 'of the one who went on');
        },
      }),
    ).rejects.toThrow('lost');
    expect(await textOf(driver, '/file')).toBe('of the one who went on');
  });
}

function refusalRules(rule: Rule): void {
  rule('an existing file is refused unless asked', ['write'], async (driver) => {
    await put(driver, '/file', 'old');
    await refuses('ENTRY_EXISTS', put(driver, '/file', 'new', { overwrite: false }));
    expect(await textOf(driver, '/file')).toBe('old');
    await put(driver, '/other', 'new', { overwrite: false });
    expect(await textOf(driver, '/other')).toBe('new');
  });
  rule('a file cannot take the place of a folder', ['write', 'makeDirectory'], async (driver) => {
    await driver.makeDirectory(at('/folder'));
    await refuses('IS_A_DIRECTORY', put(driver, '/folder', 'x'));
    await refuses('ENTRY_EXISTS', put(driver, '/folder', 'x', { overwrite: false }));
    await refuses('IS_A_DIRECTORY', put(driver, '/', 'x'));
  });
  rule('missing folders above a file are made', ['write'], async (driver) => {
    await put(driver, '/a/b/c/file', 'x');
    expect(await driver.stat(at('/a/b/c'))).toMatchObject({ name: 'c', isDirectory: true });
  });
  rule('a file is no folder to write into', ['write'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('NOT_A_DIRECTORY', put(driver, '/file/below', 'y'));
  });
  rule('another size than announced is refused, and nothing is stored', ['write'], async (driver) => {
    await put(driver, '/old', 'old');
    for (const sizeBytes of [0, 4, 6, 1_000_000]) {
      await refuses('INVALID_ARGUMENT', put(driver, '/new', 'hello', { sizeBytes }));
      await refuses('INVALID_ARGUMENT', put(driver, '/old', 'hello', { sizeBytes }));
    }
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
  });
  rule('another hash than announced is refused, and nothing is stored', ['write'], async (driver) => {
    const sha256 = digest(Buffer.from('hello'));
    await refuses('CONTENT_CORRUPT', put(driver, '/file', 'hellO', { expectedHashes: { sha256 } }));
    await refuses('CONTENT_CORRUPT', put(driver, '/file', 'hello', { expectedHashes: { md5: '0'.repeat(32), sha256 } }));
    expect(await namesIn(driver, '/')).toEqual([]);
    await put(driver, '/file', 'hello', { expectedHashes: { sha256: sha256.toUpperCase() } });
    expect(await textOf(driver, '/file')).toBe('hello');
  });
}
