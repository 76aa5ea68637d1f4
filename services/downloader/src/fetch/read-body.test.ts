import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
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
