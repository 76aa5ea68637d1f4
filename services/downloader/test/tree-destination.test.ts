import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { parseEntryName, parseVirtualPath } from '@wharf/paths';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTreeDestination } from '../src/clients/tree-destination.ts';
import { createScratch } from '../src/fetch/scratch.ts';
import { createFakeFs, kitOf } from './fake-fs.ts';

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('tree-destination');
});
afterEach(() => dir.remove());

function wholeFileStorage(keepsScratch = false) {
  const fs = createFakeFs();
  const phases: string[] = [];
  const open = () =>
    createTreeDestination({
      kit: kitOf(fs),
      bytes: fs.bytes,
      scratch: createScratch({ dir: join(dir.path, 'scratch'), maxBytes: 1_334, onFreed: () => {} }),
      userId: 1,
      directory: parseVirtualPath('/webdav'),
      signal: new AbortController().signal,
      onStoring: () => phases.push('storing'),
      keepsScratch,
    });
  return { fs, phases, open };
}

const file = { name: parseEntryName('film.mkv'), sizeBytes: 11, hasDigests: false };
const content = async function* (text: string) {
  yield Buffer.from(text);
};
const never = new AbortController().signal;
const note = async () => {};
const scratchFiles = () => readdir(join(dir.path, 'scratch'));

describe('a storage that takes only whole files', () => {
  it('gets them from the scratch folder, which is empty afterwards', async () => {
    const { fs, phases, open } = wholeFileStorage();
    const draft = await open().begin(file, note);
    await draft.sink.write(6, content('world'), never);
    await draft.sink.write(0, content('hello '), never);
    expect(await scratchFiles()).toHaveLength(1);
    await draft.commit({ sizeBytes: 11, digests: {} });
    expect(fs.files).toEqual(new Map([['/webdav/film.mkv', Buffer.from('hello world')]]));
    expect(phases).toEqual(['storing']);
    expect(await scratchFiles()).toEqual([]);
  });

  it('C17: has room held for them before they come: for what is announced, else for what is there', async () => {
    const { fs, open } = wholeFileStorage();
    fs.room = 10;
    await expect(open().begin(file, note)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', message: 'quota exceeded' });
    const draft = await open().begin({ ...file, sizeBytes: undefined }, note);
    await expect(draft.sink.write(0, content('hello world'), never)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    await draft.abort();
    expect(await scratchFiles()).toEqual([]);
  });

  it('is told nothing of a file that is not what was announced', async () => {
    const { fs, open } = wholeFileStorage();
    const draft = await open().begin(file, note);
    await draft.sink.write(0, content('hello'), never);
    await expect(draft.commit({ sizeBytes: 11, digests: {} })).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    await draft.abort();
    expect([fs.files.size, fs.sessionCount]).toEqual([0, 0]);
    expect(await scratchFiles()).toEqual([]);
  });

  it('that is away gets the file later: what was fetched waits', async () => {
    const { fs, open } = wholeFileStorage();
    const draft = await open().begin(file, note);
    await draft.sink.write(0, content('hello world'), never);
    fs.refuses = true;
    await expect(draft.commit({ sizeBytes: 11, digests: {} })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await draft.release();
    fs.refuses = false;
    const again = await open().resume(draft.id);
    await again?.commit({ sizeBytes: 11, digests: {} });
    expect(fs.files.get('/webdav/film.mkv')?.toString()).toBe('hello world');
    // Whoever died before noting it finds it done.
    expect(await open().resume(draft.id)).toMatchObject({ published: { sizeBytes: 11 } });
  });

  it('of a replica whose scratch folder is another one begins anew', async () => {
    const { fs, open } = wholeFileStorage();
    const draft = await open().begin(file, note);
    await draft.release();
    expect(await open().resume(draft.id.replace('-11', '-12'))).toBeUndefined();
    expect(fs.sessionCount).toBe(0);
  });

  it('is found again by who noted the id of a file and died before hearing that it was begun', async () => {
    const { fs, open } = wholeFileStorage();
    const refused = new Error('the note was not taken');
    await expect(open().begin(file, () => Promise.reject(refused))).rejects.toBe(refused);
    expect(fs.sessionCount).toBe(0);
    const noted: string[] = [];
    const begun = await open().begin(file, async (id) => {
      expect(fs.sessionCount).toBe(0);
      noted.push(id);
    });
    await begun.release();
    const found = await open().resume(noted[0] ?? '');
    await found?.abort();
    expect(fs.sessionCount).toBe(0);
    expect(await scratchFiles()).toEqual([]);
  });

  it('keeps the temporary file where the policy says so', async () => {
    const { open } = wholeFileStorage(true);
    const draft = await open().begin(file, note);
    await draft.sink.write(0, content('hello world'), never);
    await draft.commit({ sizeBytes: 11, digests: {} });
    expect(await scratchFiles()).toHaveLength(1);
  });

  it('takes nothing that the scratch folder has no room for', async () => {
    const { fs, open } = wholeFileStorage();
    await expect(open().begin({ ...file, sizeBytes: 5_000 }, note)).rejects.toThrowError(
      'needs 5 KB, the scratch folder has room for 1 KB at most',
    );
    expect(fs.sessionCount).toBe(0);
  });
});
