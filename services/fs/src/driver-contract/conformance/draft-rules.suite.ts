import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { at, collect, digest, namesIn, pattern, put, refuses, textOf } from './driver-calls.ts';
import type { Able, Rule } from './rule.suite.ts';

const newId = () => randomBytes(16).toString('hex');

async function* pieces(bytes: Uint8Array, size = 70_000): AsyncGenerator<Uint8Array, void> {
  for (let from = 0; from < bytes.byteLength; from += size) {
    const piece = Uint8Array.from(bytes.subarray(from, from + size));
    yield piece;
    // It was only lent.
    piece.fill(0);
  }
}

export function draftRules(rule: Rule): void {
  makingRules(rule);
  publishingRules(rule);
}

function makingRules(rule: Rule): void {
  rule('a draft takes ranges in any order, also at once, and reads back', ['openDraft'], async (driver) => {
    const content = pattern(1_500_000);
    const draft = await driver.openDraft(at('/d/file'), newId(), { create: true });
    expect(await draft.sizeBytes()).toBe(0);
    expect(await draft.write(1_000_000, pieces(content.subarray(1_000_000)))).toBe(500_000);
    const [first, second] = [content.subarray(0, 400_001), content.subarray(400_001, 1_000_000)];
    expect(await Promise.all([draft.write(400_001, pieces(second)), draft.write(0, pieces(first, 1_000_003))])).toEqual([599_999, 400_001]);
    await draft.sync();
    expect(await draft.sizeBytes()).toBe(content.byteLength);
    expect(digest(await collect(draft.read()))).toBe(digest(content));
    expect(await namesIn(driver, '/d')).toEqual([]);
    await draft.publish({ overwrite: false });
    expect(digest(await collect(await driver.read(at('/d/file'))))).toBe(digest(content));
  });
  rule('a draft of known size takes its parts in any order and at once, each on its grid', ['openDraft'], async (driver) => {
    const id = newId();
    const { partBytes } = await driver.openDraft(at('/size'), newId(), { create: true, sizeBytes: 1_000_000 }).then(async (draft) => {
      await draft.discard();
      return draft;
    });
    const step = partBytes === 1 ? 600_000 : partBytes;
    const content = pattern(2 * step + 12_345);
    const made = await driver.openDraft(at('/file'), id, { create: true, sizeBytes: content.byteLength });
    const [first, second, last] = [content.subarray(0, step), content.subarray(step, 2 * step), content.subarray(2 * step)];
    expect(await Promise.all([made.write(2 * step, pieces(last)), made.write(step, pieces(second))])).toEqual([last.byteLength, step]);
    await made.sync();
    await made.close();
    const again = await driver.openDraft(at('/file'), id, { create: false });
    expect([again.partBytes, await again.sizeBytes()]).toEqual([made.partBytes, content.byteLength]);
    // What came is not what comes in the end.
    await again.write(0, pieces(content.subarray(5, 5 + step)));
    await again.write(0, pieces(first));
    expect((await again.publish({ overwrite: false })).sizeBytes).toBe(content.byteLength);
    expect(digest(await collect(await driver.read(at('/file'))))).toBe(digest(content));
  });
  rule('an empty draft becomes an empty file', ['openDraft'], async (driver) => {
    const draft = await driver.openDraft(at('/file'), newId(), { create: true });
    expect(await draft.write(0, pieces(Buffer.alloc(0)))).toBe(0);
    expect((await draft.publish({ overwrite: false })).sizeBytes).toBe(0);
  });
  rule('a draft is found again by its id once it was let go of', ['openDraft'], async (driver) => {
    const id = newId();
    const first = await driver.openDraft(at('/file'), id, { create: true });
    await first.write(0, pieces(Buffer.from('hello')));
    await refuses('ENTRY_EXISTS', driver.openDraft(at('/file'), id, { create: true }));
    await first.close();
    await first.close();
    await refuses('STORAGE_UNAVAILABLE', first.write(0, pieces(Buffer.from('late'))));
    const second = await driver.openDraft(at('/file'), id, { create: false });
    await second.write(5, pieces(Buffer.from(' world')));
    expect((await second.publish({ overwrite: false })).sizeBytes).toBe(11);
    expect(await textOf(driver, '/file')).toBe('hello world');
    await refuses('ENTRY_NOT_FOUND', driver.openDraft(at('/file'), id, { create: false }));
  });
  rule('a draft that nobody made is not found, and one that was discarded is gone', ['openDraft'], async (driver) => {
    await refuses('ENTRY_NOT_FOUND', driver.openDraft(at('/file'), newId(), { create: false }));
    await refuses('ENTRY_NOT_FOUND', driver.openDraft(at('/file'), 'no/id', { create: false }));
    const id = newId();
    const draft = await driver.openDraft(at('/file'), id, { create: true });
    await draft.write(0, pieces(Buffer.from('hello')));
    await draft.discard();
    await draft.discard();
    await refuses('ENTRY_NOT_FOUND', driver.openDraft(at('/file'), id, { create: false }));
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('a draft has no place below a file', ['openDraft', 'write'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('NOT_A_DIRECTORY', driver.openDraft(at('/file/below'), newId(), { create: true }));
  });
  rule('a range whose source fails or is aborted passes that on, and the draft stays', ['openDraft'], async (driver) => {
    const draft = await driver.openDraft(at('/file'), newId(), { create: true });
    const broken = new Error('the source broke');
    const failing = async function* () {
      yield pattern(200_000);
      throw broken;
    };
    await expect(draft.write(0, failing())).rejects.toBe(broken);
    const abort = new AbortController();
    const stalled = async function* () {
      yield pattern(200_000);
      setImmediate(() => abort.abort());
      await new Promise(() => undefined);
    };
    await refuses('CANCELLED', draft.write(0, stalled(), { signal: abort.signal }));
    await draft.write(0, pieces(pattern(300_000)));
    await draft.publish({ overwrite: false });
    expect(digest(await collect(await driver.read(at('/file'))))).toBe(digest(pattern(300_000)));
  });
}

function publishingRules(rule: Rule): void {
  const draftOf = async (driver: Able<'openDraft'>, text: string, id: string) => {
    const draft = await driver.openDraft(at('/file'), id, { create: true });
    await draft.write(0, pieces(Buffer.from(text)));
    return draft;
  };
  rule('a published draft has its content, its date, and replaces only when asked', ['openDraft', 'write'], async (driver) => {
    const modifiedAt = new Date('2021-03-04T05:06:07Z');
    await put(driver, '/file', 'old');
    const id = newId();
    await refuses('ENTRY_EXISTS', (await draftOf(driver, 'new', id)).publish({ overwrite: false }));
    expect(await textOf(driver, '/file')).toBe('old');
    const again = await driver.openDraft(at('/file'), id, { create: false });
    const published = await again.publish({ overwrite: true, modifiedAt });
    expect(published).toMatchObject({ name: 'file', sizeBytes: 3 });
    if (driver.traits.modTimeStepMs !== undefined) expect(published.modifiedAt).toEqual(modifiedAt);
    expect(await driver.stat(at('/file'))).toEqual(published);
    expect(await textOf(driver, '/file')).toBe('new');
    expect(await namesIn(driver, '/')).toEqual(['file']);
  });
  rule('a draft cannot take the place of a folder', ['openDraft', 'makeDirectory'], async (driver) => {
    await driver.makeDirectory(at('/file'));
    const id = newId();
    await refuses('IS_A_DIRECTORY', (await draftOf(driver, 'x', id)).publish({ overwrite: true }));
    await (await driver.openDraft(at('/file'), id, { create: false })).discard();
  });
  rule(
    'a draft asks before it is published, and again when its name was given to something else',
    ['openDraft', 'write'],
    async (driver) => {
      await put(driver, '/file', 'old');
      const id = newId();
      const refusal = new Error('no');
      const refused = (await draftOf(driver, 'new', id)).publish({ overwrite: true, beforePublish: async () => Promise.reject(refusal) });
      await expect(refused).rejects.toBe(refusal);
      const seen: string[] = [];
      const draft = await driver.openDraft(at('/file'), id, { create: false });
      await draft.publish({
        overwrite: true,
        async beforePublish() {
          seen.push(await textOf(driver, '/file'));
          if (seen.length === 1) await put(driver, '/file', 'of another');
        },
      });
      expect(seen).toEqual(['old', 'of another']);
      expect(await textOf(driver, '/file')).toBe('new');
    },
  );
}
