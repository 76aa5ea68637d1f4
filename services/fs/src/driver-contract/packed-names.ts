import { getRandomValues } from 'node:crypto';
import { TextStore } from './text-store.ts';

/** The fewest that there is room for. */
const LEAST_NAMES = 1024;
const [KEY_0 = 0, KEY_1 = 0] = getRandomValues(new Int32Array(2));

/** Names, each once and with a number from 0 on, by which they can be found: in memory that is not V8's (TextStore). */
export class PackedNames {
  readonly #texts = new TextStore();
  #count = 0;
  #places = new Uint32Array(LEAST_NAMES);
  #hashes = new Uint32Array(LEAST_NAMES);
  /** Numbers of names, one added, from where their hash says on; 0 is free. Twice as many as there is room for. */
  #table = new Uint32Array(2 * LEAST_NAMES);

  get count(): number {
    return this.#count;
  }

  /** Of memory. */
  get bytes(): number {
    return this.#texts.bytes + this.#places.byteLength + this.#hashes.byteLength + this.#table.byteLength;
  }

  /** @returns whether it is new; its number is what was the count then */
  add(name: string): boolean {
    const hash = hashOf(name);
    if (this.#search(name, hash) !== undefined) return false;
    if (this.#count === this.#places.length) this.#grow();
    this.#places[this.#count] = this.#texts.append(name);
    this.#hashes[this.#count] = hash;
    this.#enter(this.#count);
    this.#count += 1;
    return true;
  }

  find(name: string): number | undefined {
    return this.#search(name, hashOf(name));
  }

  at(number: number): string {
    return this.#texts.read(this.#places[number] ?? 0);
  }

  /** For whoever asks for no name before this one any more. */
  freeBefore(number: number): void {
    this.#texts.freeBefore(this.#places[number] ?? 0);
  }

  /** As TextStore.free(). */
  free(): void {
    this.#texts.free();
    for (const column of [this.#places, this.#hashes, this.#table]) column.buffer.transfer(0);
  }

  #search(name: string, hash: number): number | undefined {
    const mask = this.#table.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#table[slot] ?? 0) - 1;
      if (number < 0) return undefined;
      if (this.#hashes[number] === hash && this.#texts.is(this.#places[number] ?? 0, name)) return number;
    }
  }

  #enter(number: number): void {
    const mask = this.#table.length - 1;
    let slot = (this.#hashes[number] ?? 0) & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = number + 1;
  }

  #grow(): void {
    const room = 2 * this.#places.length;
    this.#places = new Uint32Array(this.#places.buffer.transfer(4 * room));
    this.#hashes = new Uint32Array(this.#hashes.buffer.transfer(4 * room));
    this.#table.buffer.transfer(0);
    this.#table = new Uint32Array(2 * room);
    for (let number = 0; number < this.#count; number += 1) this.#enter(number);
  }
}

/** HalfSipHash-1-3 (https://github.com/veorq/SipHash) over pairs of characters, under a key of this process: no server can say names that share a place. */
function hashOf(text: string): number {
  let v0 = KEY_0;
  let v1 = KEY_1;
  let v2 = 0x6c796765 ^ KEY_0;
  let v3 = 0x74656462 ^ KEY_1;
  const words = Math.ceil(text.length / 2);
  for (let round = 0; round < words + 4; round += 1) {
    const at = 2 * round;
    // Behind the text stands its length. Where there is no character, NaN counts as 0.
    const word = round < words ? text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16) : round === words ? text.length : 0;
    if (round === words + 1) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}
