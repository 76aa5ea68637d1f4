import { describe, expect, it } from 'vitest';
import type { UploadSession } from '../domain/uploads/upload-session.ts';
import { createKnownUploads } from './known-uploads.ts';

const sessionOf = (id: string, offsetBytes: number, parts = 0, path = '/f', metadata = '') =>
  ({
    ...{ id, path },
    isPublished: false,
    upload: { offsetBytes, metadata, parts: new Map(Array.from({ length: parts }, (_, index) => [index, index])) },
  }) as unknown as UploadSession;
const moved = (by: number) => (session: UploadSession) => ({
  ...session,
  upload: { ...session.upload, offsetBytes: session.upload.offsetBytes + by },
});

describe('uploads that are known', () => {
  it('are looked at once, and changed as the store was', async () => {
    let looks = 0;
    const known = createKnownUploads(async (id) => {
      looks += 1;
      return sessionOf(id, 1);
    });
    const first = await known.find('a');
    if (!first) throw new Error('it is there');
    expect(known.isCurrent(first)).toBe(true);
    known.change('a', moved(4));
    expect(known.isCurrent(first)).toBe(false);
    expect((await known.find('a'))?.upload.offsetBytes).toBe(5);
    expect(looks).toBe(1);
  });

  it('are looked at again once a look was overtaken by a change, or while one is under way', async () => {
    let offsetBytes = 1;
    let gate = Promise.withResolvers<void>();
    const known = createKnownUploads(async (id) => {
      const seen = sessionOf(id, offsetBytes);
      await gate.promise;
      return seen;
    });
    for (const change of [
      async () => known.change('a', moved(1)),
      async () => known.forget('a'),
      () => known.changing('a', async () => undefined),
    ]) {
      gate = Promise.withResolvers();
      const overtaken = known.find('a');
      offsetBytes += 1;
      await change();
      gate.resolve();
      const old = await overtaken;
      expect(old && known.isCurrent(old)).toBe(false);
      expect((await known.find('a'))?.upload.offsetBytes).toBe(offsetBytes);
      known.forget('a');
    }
    // What is read within a change may be of before it.
    await known.changing('a', async () => void (await known.find('a')));
    offsetBytes += 1;
    expect((await known.find('a'))?.upload.offsetBytes).toBe(offsetBytes);
  });

  it.each([
    ['their parts', ['/f', ''], 9_999, 7],
    ['their paths and what their clients say of them', [`/${'x'.repeat(4_095)}`, 'm'.repeat(8_192)], 0, 270],
    ['what each takes itself', ['/f', ''], 0, 4_800],
  ] as const)('are bounded by %s', async (_, [path, metadata], parts, fit) => {
    const looked: string[] = [];
    const known = createKnownUploads(async (id) => {
      looked.push(id);
      return sessionOf(id, 0, parts, path, metadata);
    });
    const ids = Array.from({ length: 2 * fit }, (_unused, index) => `${index}`);
    for (const id of ids) await known.find(id);
    looked.length = 0;
    for (const id of ids.slice(-fit)) await known.find(id);
    expect(looked).toEqual([]);
    await known.find('0');
    expect(looked).toEqual(['0']);
  });
});
