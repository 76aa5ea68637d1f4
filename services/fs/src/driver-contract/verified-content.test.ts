import { getEventListeners } from 'node:events';
import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import type { WriteOptions } from './storage-driver.ts';
import { sentContent, verifiedContent } from './verified-content.ts';

async function outcome(texts: string[], options: Partial<WriteOptions>): Promise<string> {
  const chunks = (async function* () {
    for (const text of texts) yield Buffer.from(text);
  })();
  try {
    return Buffer.concat(await Array.fromAsync(verifiedContent(chunks, { overwrite: true, ...options }))).toString();
  } catch (error) {
    return AppError.from(error).code;
  }
}

it.each<[string[], Partial<WriteOptions>, string]>([
  [[], {}, ''],
  [['a', '', 'b'], {}, 'ab'],
  [['ab'], { sizeBytes: 2 }, 'ab'],
  [[], { sizeBytes: 0 }, ''],
  [['ab'], { sizeBytes: 1 }, 'INVALID_ARGUMENT'],
  [['ab'], { sizeBytes: 3 }, 'INVALID_ARGUMENT'],
  [['a'], { expectedHashes: { md5: '0cc175b9c0f1b6a831c399e269772661' } }, 'a'],
  [['a'], { expectedHashes: { md5: '0CC175B9C0F1B6A831C399E269772661' } }, 'a'],
  [['a'], { expectedHashes: { sha1: '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8' } }, 'a'],
  [['b'], { expectedHashes: { sha1: '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8' } }, 'CONTENT_CORRUPT'],
  [['a'], { signal: AbortSignal.abort() }, 'CANCELLED'],
  [['a'], { signal: AbortSignal.abort(new AppError('DEADLINE_EXCEEDED', '')) }, 'DEADLINE_EXCEEDED'],
  [['ab'], { signal: new AbortController().signal, sizeBytes: 2 }, 'ab'],
])('%j under %j is %s', async (texts, options, expected) => expect(await outcome(texts, options)).toBe(expected));

it('holds nothing of a signal that outlives the content', async () => {
  const { signal } = new AbortController();
  await outcome(['a', 'b', 'c'], { signal });
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

/** What is said of a content of `texts` that a server has taken, as it says, after so many pieces; `isTold`: it was asked for the end too. */
async function sent(texts: readonly string[], pieces: number, options: Partial<WriteOptions>, isTold = false): Promise<string> {
  const content = sentContent(
    (async function* () {
      for (const text of texts) yield Buffer.from(text);
    })(),
    { overwrite: true, ...options },
  );
  for (let taken = 0; taken < pieces; taken += 1) await content.pieces.next();
  try {
    if (isTold) await content.pieces.next();
    await content.pieces.return();
    content.requireWhole();
    return String(content.bytes());
  } catch (error) {
    return AppError.from(error).code;
  }
}

it.each<[number, Partial<WriteOptions>, boolean, string]>([
  [2, {}, true, '2'],
  [2, {}, false, 'STORAGE_UNAVAILABLE'],
  [1, {}, false, 'STORAGE_UNAVAILABLE'],
  [1, { sizeBytes: 2 }, false, 'STORAGE_UNAVAILABLE'],
  [2, { sizeBytes: 2 }, false, '2'],
  [2, { sizeBytes: 2, expectedHashes: { md5: '187ef4436122d1cc2f40dc2b92f0eba0' } }, false, '2'],
  [2, { sizeBytes: 2, expectedHashes: { md5: '0cc175b9c0f1b6a831c399e269772661' } }, false, 'CONTENT_CORRUPT'],
  [2, { sizeBytes: 2, expectedHashes: { md5: '0cc175b9c0f1b6a831c399e269772661' } }, true, 'CONTENT_CORRUPT'],
  [0, { sizeBytes: 2 }, false, 'STORAGE_UNAVAILABLE'],
])('a server that is content with %i of 2 pieces under %j (end: %s): %s', async (pieces, options, isTold, expected) =>
  expect(await sent(['a', 'b'], pieces, options, isTold)).toBe(expected),
);
