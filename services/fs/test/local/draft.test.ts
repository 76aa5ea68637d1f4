import { open, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { waitFor } from '@wharf/harness';
import { describe, expect, it } from 'vitest';
import type { Draft } from '../../src/driver-contract/draft.ts';
import { at, codeOf, makeFolders, openLocal } from './open-local.ts';

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
