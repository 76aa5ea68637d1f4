import { randomBytes } from 'node:crypto';
import { CopyObjectCommand, CreateMultipartUploadCommand, ListPartsCommand } from '@aws-sdk/client-s3';
import { parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { createListingRoom } from '../../../driver-contract/listing-room.ts';
import type { StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { S3Client } from '../client.ts';
import { s3ConfigSchema, s3Settings } from '../config.ts';
import { s3Driver } from '../index.ts';
import { sweepDrafts } from '../stored-draft.ts';
import { type Bucket, testEgress } from './bucket.ts';

const MIB = 1024 * 1024;
const PART = 8 * MIB;
const DAY_MS = 86_400_000;
const at = (path: string) => relativeTo(VIRTUAL_ROOT, parseVirtualPath(path));
const newId = () => randomBytes(16).toString('hex');
async function* once(bytes: Uint8Array) {
  if (bytes.byteLength > 0) yield bytes;
}

type Open = (items?: Record<string, unknown>) => Promise<{ driver: Required<StorageDriver>; root: string }>;

/** What drafts leave in a bucket, and when. */
export function draftRules(bucket: Bucket, open: Open): void {
  const read = async (driver: StorageDriver, path: string) =>
    Buffer.concat(await Array.fromAsync(await driver.read(at(path)), (piece) => Buffer.from(piece)));
  const storedParts = async (root: string, id: string) => {
    const note = JSON.parse(await bucket.text(`${root}/.wharf-uploads/draft-${id}/note`));
    const Key = `${root}/.wharf-uploads/draft-${id}/whole`;
    const { Parts = [] } = await bucket.sdk.send(new ListPartsCommand({ Bucket: bucket.name, Key, UploadId: note.uploadId }));
    return Parts.map(({ PartNumber, Size }) => [PartNumber, Size]);
  };
  const left = async (root: string) => [...(await bucket.uploads(`${root}/`)), ...(await bucket.keys(`${root}/.wharf-uploads/`))];
  const piecesOf = async (root: string) => (await bucket.keys(`${root}/.wharf-uploads/`)).filter((key) => key.includes('/piece-'));

  describe('drafts', () => {
    it('whole parts go to the store as they come, whoever sends them, and the old object stays until the end', async () => {
      const { driver, root } = await open();
      const { driver: replica } = await open({ root_folder_path: root });
      await driver.write(at('/file'), once(Buffer.from('old')), { overwrite: false });
      const content = randomBytes(2 * PART + 5);
      const id = newId();
      const draft = await driver.openDraft(at('/file'), id, { create: true, sizeBytes: content.byteLength });
      const other = await replica.openDraft(at('/file'), id, { create: false });
      await Promise.all([draft.write(2 * PART, once(content.subarray(2 * PART))), other.write(0, once(content.subarray(0, PART)))]);
      expect(await storedParts(root, id)).toEqual([
        [1, PART],
        [3, 5],
      ]);
      await expect(draft.publish({ overwrite: true })).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
      await other.write(PART, once(content.subarray(PART, 2 * PART)));
      expect([await piecesOf(root), (await read(driver, '/file')).toString()]).toEqual([[], 'old']);
      await other.publish({ overwrite: true });
      expect((await read(driver, '/file')).equals(content)).toBe(true);
      expect(await left(root)).toEqual([]);
    });

    it('ranges that are no part wait in the bucket, and become one with the last of it', async () => {
      const { driver, root } = await open();
      const content = randomBytes(PART + 3 * MIB);
      const id = newId();
      const draft = await driver.openDraft(at('/file'), id, { create: true });
      expect(draft.partBytes).toBe(2 * PART);
      await draft.discard();
      const known = await driver.openDraft(at('/file'), id, { create: true, sizeBytes: content.byteLength });
      const starts = Array.from({ length: 11 }, (_, index) => index * MIB);
      for (const start of starts.filter((each) => each !== 3 * MIB)) await known.write(start, once(content.subarray(start, start + MIB)));
      expect([await storedParts(root, id), (await piecesOf(root)).length]).toEqual([[[2, 3 * MIB]], 10]);
      await expect(known.write(content.byteLength, once(Buffer.of(1)))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      // Over the border of two parts, and some of it once more.
      await known.write(3 * MIB, once(content.subarray(3 * MIB, 9 * MIB)));
      expect((await storedParts(root, id)).map(([number]) => number)).toEqual([1, 2]);
      await known.publish({ overwrite: false });
      expect((await read(driver, '/file')).equals(content)).toBe(true);
      expect(await left(root)).toEqual([]);
    });

    it('bytes that are written anew count, also in a part that was whole before', async () => {
      const { driver, root } = await open();
      const content = randomBytes(PART + 2 * MIB);
      const wrong = randomBytes(7 * MIB);
      const draft = await driver.openDraft(at('/file'), newId(), { create: true, sizeBytes: content.byteLength });
      await draft.write(0, once(content.subarray(0, 3 * MIB)));
      // Refused by whoever asked: it fills the first part, and begins the second.
      await draft.write(3 * MIB, once(wrong));
      await draft.write(3 * MIB, once(content.subarray(3 * MIB, 4 * MIB)));
      await draft.write(4 * MIB, once(content.subarray(4 * MIB, PART + MIB)));
      await draft.write(PART + MIB, once(content.subarray(PART + MIB)));
      await draft.publish({ overwrite: false });
      expect((await read(driver, '/file')).equals(content)).toBe(true);
      expect(await left(root)).toEqual([]);
    });

    it('one whose maker died right behind the upload is gone with it', async () => {
      const { driver, root } = await open();
      const id = newId();
      const Key = `${root}/.wharf-uploads/draft-${id}/whole`;
      await bucket.sdk.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key }));
      await expect(driver.openDraft(at('/file'), id, { create: false })).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
      expect(await left(root)).toEqual([]);
    });

    it('one whose publisher died is published where the file is there, else it goes on', async () => {
      const { driver, root } = await open();
      const id = newId();
      const base = `${root}/.wharf-uploads/draft-${id}`;
      const draft = await driver.openDraft(at('/file'), id, { create: true });
      await draft.write(0, once(Buffer.from('hello')));
      expect(Buffer.concat(await Array.fromAsync(draft.read(), (piece) => Buffer.from(piece))).toString()).toBe('hello');
      for (const late of [Buffer.from('more'), Buffer.alloc(16 * MIB)])
        await expect(draft.write(16 * MIB, once(late))).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
      const note = JSON.parse(await bucket.text(`${base}/note`));
      await bucket.put(`${base}/note`, JSON.stringify({ ...note, publishing: `${root}/file` }));
      await bucket.put(`${root}/file`, 'of another');
      await (await driver.openDraft(at('/file'), id, { create: false })).close();
      await bucket.sdk.send(
        new CopyObjectCommand({ Bucket: bucket.name, CopySource: `${bucket.name}/${base}/whole`, Key: `${root}/file` }),
      );
      await expect(driver.openDraft(at('/file'), id, { create: false })).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
      expect([await left(root), (await read(driver, '/file')).toString()]).toEqual([[], 'hello']);
    });

    it('one whose publisher died replaces what it was to replace, and nothing that was stored since', async () => {
      const { driver, root } = await open();
      const id = newId();
      const whole = `${bucket.name}/${root}/.wharf-uploads/draft-${id}/whole`;
      await bucket.put(`${root}/file`, 'old');
      await (await driver.openDraft(at('/file'), id, { create: true })).write(0, once(Buffer.from('hello')));
      const publish = async (beforePublish?: () => Promise<void>) =>
        (await driver.openDraft(at('/file'), id, { create: false })).publish({ overwrite: true, beforePublish });
      const killed = () => publish(() => Promise.reject(new Error('killed')));
      await expect(killed()).rejects.toThrow('killed');
      await expect(killed()).rejects.toThrow('killed');
      await bucket.sdk.send(new CopyObjectCommand({ Bucket: bucket.name, CopySource: whole, Key: `${root}/file` }));
      await bucket.put(`${root}/file`, 'edit');
      await expect(publish()).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
      expect((await read(driver, '/file')).toString()).toBe('edit');
      await bucket.put(`${root}/file`, 'old');
      await publish();
      expect([await left(root), (await read(driver, '/file')).toString()]).toEqual([[], 'hello']);
    });

    it('those that nobody wrote to for two days are swept, and nothing else', async () => {
      const { driver, root } = await open();
      const { driver: neighbour, root: other } = await open();
      const begin = async (one: Required<StorageDriver>) => {
        const draft = await one.openDraft(at('/file'), newId(), { create: true });
        await draft.write(0, once(Buffer.from('piece')));
        return draft;
      };
      const [, kept] = [await begin(driver), await begin(neighbour)];
      await bucket.put(`${root}/.wharf-uploads/draft-something`, 'else');
      const settings = s3Settings(
        s3ConfigSchema.parse(JSON.parse(s3Driver.normaliseAddition(bucket.addition({ root_folder_path: root })))),
      );
      const parts = { keyPrefix: settings.keyPrefix, hashes: { sha256: true, md5: false }, room: createListingRoom() };
      const store = { client: new S3Client(settings, testEgress()), ...parts };
      const sweep = (afterMs: number) => sweepDrafts(store, {}, Date.now() + afterMs);
      await sweep(2 * DAY_MS - 3_600_000);
      expect(await left(root)).toHaveLength(4);
      await sweep(2 * DAY_MS + 3_600_000);
      store.client.close();
      expect([await left(root), (await left(other)).length]).toEqual([['draft-something'], 3]);
      await kept.discard();
    });
  });
}
