import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { FrameReader } from './wire.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const HEADER_BYTES = 16;
const MESSAGE_BYTES = 4 * 1024 ** 2;

function message(): Buffer {
  const bytes = Buffer.alloc(MESSAGE_BYTES);
  bytes.writeInt32LE(MESSAGE_BYTES);
  return bytes;
}

it('a connection that waits for its next message keeps nothing of the last one', () => {
  const readers = Array.from({ length: 20 }, () => new FrameReader());
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (const reader of readers) {
    const bytes = message();
    expect(reader.push(bytes.subarray(0, 1_000_000))).toEqual([]);
    expect(reader.push(bytes.subarray(1_000_000)).map(({ body }) => body.length)).toEqual([MESSAGE_BYTES - HEADER_BYTES]);
  }
  // The second waits for what the first one gives back beside us.
  collectGarbage();
  collectGarbage();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * MESSAGE_BYTES);
  for (const reader of readers) expect(reader.push(message())).toHaveLength(1);
});
