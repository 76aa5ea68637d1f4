import { encodingOf } from '@wharf/pace';
import { freeMemory } from './batches.ts';

/**
 * The C library takes the big blocks from the system and gives them back at once (tools/run.mjs): of one that is not full only what was written takes memory.
 */
const BLOCK_BYTES = 2 * 1024 * 1024;
/** The first ones: most folders are small. */
const FIRST_BLOCKS_BYTES: readonly number[] = [64 * 1024, 256 * 1024];
/** Before each text: twice its length, and one more where its characters have two bytes. */
const HEAD_BYTES = 4;

/**
 * Texts in memory that is not V8's: a text takes its bytes and four more there, what is kept of an answer does not keep the answer, and the collector, which
 * lets its own memory grow to twice of what is in use, has nothing to do with it.
 */
export class TextStore {
  readonly #blocks: (Buffer | undefined)[] = [];
  #end = 0;
  #bytes = 0;

  /** Of memory, as far as it was written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns where it is: a number below 2^32 */
  append(text: string): number {
    const encoding = encodingOf(text);
    const isWide = encoding === 'utf16le';
    const size = HEAD_BYTES + (isWide ? 2 : 1) * text.length;
    let block = this.#blocks.at(-1);
    if (block === undefined || this.#end + size > block.byteLength) {
      block = Buffer.allocUnsafeSlow(Math.max(size, FIRST_BLOCKS_BYTES[this.#blocks.length] ?? BLOCK_BYTES));
      this.#blocks.push(block);
      this.#end = 0;
    }
    const at = this.#end;
    block.writeUInt32LE(2 * text.length + (isWide ? 1 : 0), at);
    block.write(text, at + HEAD_BYTES, encoding);
    this.#end += size;
    this.#bytes += size;
    return (this.#blocks.length - 1) * BLOCK_BYTES + at;
  }

  /** Frees the memory of texts before this one, for whoever is done with them, as far as no other shares it. */
  freeBefore(place: number): void {
    const last = Math.floor(place / BLOCK_BYTES) - 1;
    const block = this.#blocks[last];
    if (block === undefined) return;
    this.#blocks[last] = undefined;
    freeMemory(block);
  }

  read(place: number): string {
    const { block, at } = this.#find(place);
    const head = block.readUInt32LE(at);
    const isWide = head % 2 === 1;
    const begin = at + HEAD_BYTES;
    return block.toString(isWide ? 'utf16le' : 'latin1', begin, begin + (isWide ? head - 1 : head / 2));
  }

  is(place: number, text: string): boolean {
    const { block, at } = this.#find(place);
    return block.readUInt32LE(at) >>> 1 === text.length && this.read(place) === text;
  }

  /** Frees all of it at once: to V8 it is a few bytes, and would gather. Nothing is read after that. */
  free(): void {
    for (const block of this.#blocks) if (block) freeMemory(block);
    this.#blocks.length = 0;
  }

  #find(place: number): { block: Buffer; at: number } {
    const block = this.#blocks[Math.floor(place / BLOCK_BYTES)];
    if (block === undefined) throw new Error(`no text at ${place}`);
    return { block, at: place % BLOCK_BYTES };
  }
}
