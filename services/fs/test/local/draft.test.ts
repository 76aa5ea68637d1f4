import { link, open, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import { describe, expect, it } from 'vitest';
import type { Draft } from '../../src/driver-contract/storage-driver.ts';
import { at, codeOf, makeFolders, namesIn, openLocal, put, settledNames } from './open-local.ts';

const ID = '0'.repeat(32);
const PIECE = Buffer.alloc(200_000, 'X');

describe('a draft that is let go of while a range is written', () => {
  it.each([
    ['closed', (draft: Draft) => draft.close()],
    ['discarded', (draft: Draft) => draft.discard()],
    ['published', (draft: Draft) => draft.publish({ overwrite: false })],
  ])('because it is %s: the write ends, and no other file gets what was to come', async (_title, letGo) => {
    const { base, root } = await makeFolders();
    const driver = await openLocal(root);
    const draft = await driver.openDraft(at('/film.bin'), ID, { create: true });
    const gate = Promise.withResolvers<void>();
    const content = async function* () {
      yield PIECE;
      await gate.promise;
      yield PIECE;
    };
    const writing = codeOf(draft.write(0, content()));
    await waitFor('the first piece', async () => (await draft.sizeBytes()) === PIECE.byteLength);
    await letGo(draft);
    // One of these gets the number that the draft's handle had.
    const other = path.join(base, 'other');
    await writeFile(other, 'precious');
    const handles = await Promise.all(Array.from({ length: 10 }, () => open(other, 'r+')));
    gate.resolve();
    expect(await writing).toBe('STORAGE_UNAVAILABLE');
    expect(await codeOf(draft.write(0, content()))).toBe('STORAGE_UNAVAILABLE');
    for (const handle of handles) await handle.close();
    expect(await readFile(other, 'utf8')).toBe('precious');
  });
});

describe('a draft that an earlier process made', () => {
  it('is gone when that one died between giving it its name and taking the first one away', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const draft = await driver.openDraft(at('/film.bin'), ID, { create: true });
    await draft.write(0, Readable.from([PIECE]));
    await draft.close();
    const [name = ''] = await readdir(path.join(root, '.wharf-tmp'));
    await link(path.join(root, '.wharf-tmp', name), path.join(root, 'film.bin'));
    expect(await codeOf(driver.openDraft(at('/film.bin'), ID, { create: false }))).toBe('ENTRY_NOT_FOUND');
    expect(await settledNames(root)).toEqual(['film.bin']);
    expect(await readFile(path.join(root, 'film.bin'))).toEqual(PIECE);
  });

  it('is found and taken away without its folder, which comes back only when it gets its name', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const make = async (id: string) => (await driver.openDraft(at('/shows/film.bin'), id, { create: true })).close();
    await make(ID);
    await make('1'.repeat(32));
    await rmdir(path.join(root, 'shows'));
    await (await driver.openDraft(at('/shows/film.bin'), ID, { create: false })).discard();
    expect(await readdir(root)).toEqual(['.wharf-tmp']);
    await (await driver.openDraft(at('/shows/film.bin'), '1'.repeat(32), { create: false })).publish({ overwrite: false });
    expect(await settledNames(root)).toEqual(['shows']);
    expect(await readdir(path.join(root, 'shows'))).toEqual(['film.bin']);
  });
});

describe('a draft that was given the date of its file, and not its name', () => {
  it('stays when the storage is opened again, and its folder is listed', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    await put(driver, '/film.bin', 'old');
    const draft = await driver.openDraft(at('/film.bin'), ID, { create: true });
    await draft.write(0, Readable.from([PIECE]));
    const beforePublish = async () => {
      throw new AppError('STORAGE_UNAVAILABLE', 'away');
    };
    const publishing = draft.publish({ overwrite: true, modifiedAt: new Date('2019-01-01'), beforePublish });
    expect(await codeOf(publishing)).toBe('STORAGE_UNAVAILABLE');
    const again = await openLocal(root);
    expect(await namesIn(again, '/')).toEqual(['film.bin']);
    const kept = await again.openDraft(at('/film.bin'), ID, { create: false });
    expect(await kept.sizeBytes()).toBe(PIECE.byteLength);
    await kept.publish({ overwrite: true });
    expect((await again.stat(at('/film.bin'))).sizeBytes).toBe(PIECE.byteLength);
  });
});
