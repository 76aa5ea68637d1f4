import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decoded } from './read-body.ts';

/** Empty blocks of deflate (RFC 1951, 3.2.4), which become nothing. */
const EMPTY_BLOCKS = Buffer.from('000000ffff'.repeat(13_200), 'hex');
const GZIP_HEAD = gzipSync('').subarray(0, 10);
const GZIP_END = gzipSync('').subarray(10);

it('leaves nothing behind for each time that the source is faster than the decoder', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  try {
    const source = async function* () {
      yield GZIP_HEAD;
      for (let piece = 0; piece < 30; piece += 1) yield EMPTY_BLOCKS;
      yield GZIP_END;
    };
    const pieces = await Array.fromAsync(decoded(source(), 'gzip'));
    expect(Buffer.concat(pieces)).toHaveLength(0);
    await turn();
    expect(warnings.map(({ name }) => name)).not.toContain('MaxListenersExceededWarning');
  } finally {
    process.off('warning', note);
  }
});

it('lets go of the source when whoever reads has left while it was silent', async () => {
  const source = new EventEmitter();
  const content = async function* () {
    try {
      yield gzipSync(Buffer.alloc(100_000, 'a')).subarray(0, 100);
      yield* [await once(source, 'more')].flat();
    } finally {
      source.emit('end');
    }
  };
  const ended = once(source, 'end');
  for await (const _ of decoded(content(), 'gzip')) break;
  await turn();
  source.emit('more', Buffer.alloc(32));
  await ended;
});

describe('zstd', () => {
  /** A frame with a window of 2^log bytes, of one block of 128 KiB that is all zeros (RFC 8878, 3.1.1). */
  const frame = (log: number) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 0x03, 0x00, 0x10, 0x00]);
  const decode = (log: number) =>
    Array.fromAsync(
      decoded(
        (async function* () {
          yield frame(log);
        })(),
        'zstd',
      ),
    );

  it('has a window of 8 MiB', async () => {
    expect(Buffer.concat(await decode(23))).toHaveLength(128 * 1024);
  });

  it('that asks for a larger one is refused: each download would take that much memory', async () => {
    await expect(decode(24)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });
});

describe('what comes behind the end of compressed data is not left out in silence', () => {
  const file = Buffer.alloc(100_000, 'a');
  it.each([
    ['zstd', zstdCompressSync(file)],
    ['br', brotliCompressSync(file)],
    ['deflate', deflateSync(file)],
  ])('%s', async (encoding, once) => {
    for (const pieces of [
      [Buffer.concat([once, once])],
      [once, once.subarray(0, 3), once.subarray(3)],
      [Buffer.concat([once, Buffer.alloc(1)])],
    ]) {
      const source = async function* () {
        yield* pieces;
      };
      const arrived = await Array.fromAsync(decoded(source(), encoding)).then(Buffer.concat, (error: unknown) => error);
      if (Buffer.isBuffer(arrived)) expect(arrived).toHaveLength(2 * file.length);
      else expect(arrived).toMatchObject({ code: 'CONTENT_CORRUPT' });
    }
  });

  it('gzip: all parts are read', async () => {
    const part = gzipSync(file);
    const source = async function* () {
      yield Buffer.concat([part, part, Buffer.alloc(512)]);
    };
    expect(Buffer.concat(await Array.fromAsync(decoded(source(), 'gzip')))).toHaveLength(2 * file.length);
  });
});
