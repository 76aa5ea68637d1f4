import { AppError, type ErrorCode } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import { describe, expect, it, onTestFinished } from 'vitest';
import { leftNames, watchLooks } from '../../domain/testing/looks-in-one-turn.ts';
import { refusalOf } from '../../domain/testing/refusal.ts';
import { createListingRoom } from '../../driver-contract/listing-room.ts';
import type { S3Client } from './client.ts';
import { createNotedUploads } from './noted-uploads.ts';

const FOLDER = 'root/.wharf-uploads/';
const failing = (code: ErrorCode) => () => Promise.reject(new AppError(code, 'refused'));

/** Uploads in a bucket of notes alone. @param changed what the store does otherwise than to begin uploads, and to show none. @param root of the storage */
function openBucket(changed: Partial<Record<keyof S3Client, unknown>>, root = 'root/') {
  const objects = new Map<string, string>();
  const modifiedAt = new Date();
  const client = {
    async put(key: string, payload: { readonly bytes: Uint8Array }) {
      objects.set(key, Buffer.from(payload.bytes).toString());
    },
    delete: async (key: string) => void objects.delete(key),
    findHead: async (key: string) => (objects.has(key) ? { modifiedAt } : undefined),
    readText: async (key: string) => objects.get(key) ?? '',
    pages: async function* ({ prefix }: { readonly prefix: string }) {
      const below = [...objects.keys()].filter((key) => key.startsWith(prefix));
      yield { objects: below.map((key) => ({ key, modifiedAt })), prefixes: [] };
    },
    createUpload: async () => 'id-1',
    listUploads: async () => [],
    abortUpload: async () => {},
    ...changed,
  } as unknown as S3Client;
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  return { objects, uploads: createNotedUploads(client, root, closing.signal, createListingRoom()) };
}

it.each(['PERMISSION_DENIED', 'UNSUPPORTED_OPERATION'] as const)(
  'an upload whose id nobody heard leaves no note for ever where the store never shows what is under way: %s',
  async (code) => {
    const { objects, uploads } = openBucket({ createUpload: failing('STORAGE_UNAVAILABLE'), listUploads: failing(code) });
    await expect(uploads.begin('root/big', { contentType: '' }, {})).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect([...objects.keys()]).toEqual([]);
    objects.set(FOLDER + newOwnedName({ ...currentOwner(), pid: 4_194_305 }), JSON.stringify({ key: 'root/big' }));
    await uploads.sweep({});
    expect([...objects.keys()]).toEqual([]);
  },
);

it('a note with a key that no object has is none: all notes are held together', async () => {
  const { objects, uploads } = openBucket({});
  await uploads.begin('root/other', { contentType: '' }, {});
  const other = { ...currentOwner(), host: 'e'.repeat(12) };
  for (const key of ['root/big', 'k'.repeat(200_000)]) objects.set(FOLDER + newOwnedName(other), JSON.stringify({ key }));
  expect(await uploads.keysUnderWay({})).toEqual(['root/other', 'root/big']);
});

it('notes above a deep root do not fill the memory, however many and long a store shows them', async () => {
  let shown = 0;
  const name = () => newOwnedName({ ...currentOwner(), host: 'e'.repeat(12) });
  const note = JSON.stringify({ key: 'root/big', id: '\u0100'.repeat(4_000) });
  const changed: Partial<Record<keyof S3Client, unknown>> = {
    pages: async function* ({ prefix }: { readonly prefix: string }) {
      yield { objects: Array.from({ length: 1_000 }, () => ({ key: prefix + name(), modifiedAt: new Date() })), prefixes: [] };
    },
    readText: async () => {
      shown += note.length;
      return note;
    },
  };
  const { uploads } = openBucket(changed, 'deep/'.repeat(20));
  expect(await refusalOf(uploads.keysUnderWay({}))).toEqual(['STORAGE_UNAVAILABLE', expect.any(String)]);
  expect(shown).toBeLessThan(12 * 1024 * 1024);
});

it('a page of names of ours, of which the system is asked for their process, leaves others their turns', async () => {
  const names = leftNames(2_000).map((name) => name.replace(/-\d+-/, `-${process.pid}-`));
  const { uploads } = openBucket({
    pages: async function* () {
      yield { objects: names.map((name) => ({ key: FOLDER + name, modifiedAt: new Date() })), prefixes: [] };
    },
    readText: async () => '{}',
  });
  const mostLooks = watchLooks();
  await uploads.sweep({});
  expect(mostLooks()).toBeLessThan(1_000);
});

it('what has ended is not under way, though the store does not hear of that', async () => {
  const { objects, uploads } = openBucket({ abortUpload: failing('STORAGE_UNAVAILABLE'), listUploads: failing('STORAGE_UNAVAILABLE') });
  const upload = await uploads.begin('root/big', { contentType: '' }, {});
  expect(await uploads.keysUnderWay({})).toEqual(['root/big']);
  await upload.abort();
  objects.set(FOLDER + newOwnedName({ ...currentOwner(), pid: 4_194_305 }), JSON.stringify({ key: 'root/left' }));
  objects.set(FOLDER + newOwnedName({ ...currentOwner(), host: 'e'.repeat(12) }), JSON.stringify({ key: 'root/others' }));
  expect(objects.size).toBe(3);
  expect(await uploads.keysUnderWay({})).toEqual(['root/others']);
});

it('a note that comes after it was taken back is taken back again', async () => {
  const late: (() => void)[] = [];
  const { objects, uploads } = openBucket({
    put: async (key: string) => {
      late.push(() => objects.set(key, JSON.stringify({ key: 'root/big' })));
      throw new AppError('STORAGE_UNAVAILABLE', 'broke off');
    },
  });
  await expect(uploads.begin('root/big', { contentType: '' }, {})).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(late).toHaveLength(1);
  for (const arrive of late) arrive();
  expect(objects.size).toBe(1);
  await waitFor('the note to go', () => objects.size === 0);
});

describe('storages of one bucket, of which one lies in the other', () => {
  const elsewhere = () => newOwnedName({ ...currentOwner(), host: 'e'.repeat(12) });

  it.each(['', 'root/inner/'])(
    'an upload of one whose id nobody heard does not end that of the other, with its root at "%s"',
    async (root) => {
      const ended: string[] = [];
      const key = 'root/inner/big';
      const { objects, uploads } = openBucket({
        createUpload: failing('STORAGE_UNAVAILABLE'),
        listUploads: async () => ['lost', 'of the other'].map((id) => ({ key, id, startedAt: new Date() })),
        abortUpload: async (_: string, id: string) => void ended.push(id),
      });
      objects.set(`${root}.wharf-uploads/${elsewhere()}`, JSON.stringify({ key, id: 'of the other' }));
      await expect(uploads.begin(key, { contentType: '' }, {})).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect(ended).toEqual(['lost']);
    },
  );

  it('what the outer one uploads is under way for the inner one too', async () => {
    const { objects, uploads } = openBucket({});
    objects.set(`.wharf-uploads/${elsewhere()}`, JSON.stringify({ key: 'root/big', id: 'x' }));
    expect(await uploads.keysUnderWay({})).toEqual(['root/big']);
  });
});
