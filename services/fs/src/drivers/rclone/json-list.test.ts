import { expect, test } from 'vitest';
import { readJsonList } from './json-list.ts';

const items = [{ Name: 'a "quoted" \\ {name}', Size: 1 }, { Name: '}{', Size: 2 }, { Name: 'ä😀', Inner: { deep: [{}] } }, {}];
const read = (bytes: Uint8Array, pieceBytes: number) =>
  Array.fromAsync(
    readJsonList(
      (async function* () {
        for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
      })(),
      new AbortController().signal,
    ),
  );

test('the objects of a list come out as they went in, however they are cut', async () => {
  for (const text of [JSON.stringify({ list: items }), JSON.stringify({ list: items }, null, '\t')]) {
    const bytes = Buffer.from(text);
    for (let pieceBytes = 1; pieceBytes < bytes.byteLength + 1; pieceBytes += 1) expect(await read(bytes, pieceBytes)).toEqual(items);
  }
  expect(await read(Buffer.from('{"list": []}'), 100)).toEqual([]);
});

test('an answer that breaks off anywhere, is empty or no list is refused', async () => {
  const whole = Buffer.from(JSON.stringify({ list: items }));
  for (let bytes = 0; bytes < whole.byteLength; bytes += 1) {
    await expect(read(whole.subarray(0, bytes), 10)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  }
  await expect(read(Buffer.from('<html>'), 10)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(read(Buffer.from(`{"list": [{"Name": "${'x'.repeat(100_000)}`), 1000)).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
  });
});
