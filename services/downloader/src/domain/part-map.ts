import type { Validator } from './validator.ts';

/** How far a download in parts has come, in the form that is stored. Parts that are not marked are fetched again. */
export interface SavedParts {
  readonly sizeBytes: number;
  readonly partBytes: number;
  readonly validator: Validator;
  /** One bit for each part, the lowest first, as base64. */
  readonly done: string;
  /** What is there of others, from their start. */
  readonly begun: ReadonlyArray<{ readonly part: number; readonly bytes: number }>;
}

const MIB = 1024 * 1024;
/** The biggest file that a source is believed to have: a volume of ext4 holds no bigger one. */
export const MAX_FILE_BYTES = 16 * 1024 ** 4;
/** Parts are noted one by one with each checkpoint; a file with more of them has bigger ones. */
export const MAX_PARTS = 100_000;
/** The size of a part by the least size of the file: small enough to lose little, big enough to be worth a request. */
const PART_SIZES: readonly (readonly [fileBytes: number, partBytes: number])[] = [
  [1024 * MIB, 16 * MIB],
  [64 * MIB, 4 * MIB],
  [0, MIB],
];

/** Which parts of a file are at their destination. */
export class PartMap {
  readonly sizeBytes: number;
  readonly partBytes: number;
  readonly #validator: Validator;
  readonly #done: Uint8Array;
  readonly #begun: Map<number, number>;

  constructor(saved: SavedParts) {
    this.sizeBytes = saved.sizeBytes;
    this.partBytes = saved.partBytes;
    this.#validator = saved.validator;
    this.#done = new Uint8Array(Math.ceil(this.count / 8));
    this.#done.set(Buffer.from(saved.done, 'base64').subarray(0, this.#done.length));
    this.#begun = new Map(saved.begun.map(({ part, bytes }) => [part, bytes]));
  }

  /** @param gridBytes parts are multiples of this */
  static begin(sizeBytes: number, validator: Validator, gridBytes = 1): PartMap {
    const [, usualBytes = MIB] = PART_SIZES.find(([fileBytes]) => sizeBytes >= fileBytes) ?? [];
    const wantedBytes = Math.max(usualBytes, Math.ceil(sizeBytes / MAX_PARTS / MIB) * MIB);
    const partBytes = Math.ceil(wantedBytes / gridBytes) * gridBytes;
    return new PartMap({ sizeBytes, partBytes, validator, done: '', begun: [] });
  }

  get count(): number {
    return Math.ceil(this.sizeBytes / this.partBytes);
  }

  /** Bytes [start, end] that are missing of a part that is not done. */
  range(part: number): { start: number; end: number } {
    const end = Math.min((part + 1) * this.partBytes, this.sizeBytes) - 1;
    return { start: part * this.partBytes + (this.#begun.get(part) ?? 0), end };
  }

  isDone(part: number): boolean {
    return ((this.#done[part >> 3] ?? 0) & (1 << (part & 7))) !== 0;
  }

  /** Notes that more bytes of a part are there. */
  advance(part: number, bytes: number): void {
    this.#begun.set(part, (this.#begun.get(part) ?? 0) + bytes);
    const { start, end } = this.range(part);
    if (start <= end) return;
    this.#begun.delete(part);
    this.#done[part >> 3] = (this.#done[part >> 3] ?? 0) | (1 << (part & 7));
  }

  /** The parts that are missing, from the front, looked for as they are asked for. */
  *missing(): Generator<number, undefined> {
    for (let part = 0; part < this.count; part += 1) if (!this.isDone(part)) yield part;
  }

  doneBytes(): number {
    let bytes = this.sizeBytes;
    for (const part of this.missing()) {
      const { start, end } = this.range(part);
      bytes -= end - start + 1;
    }
    return bytes;
  }

  save(): SavedParts {
    return {
      sizeBytes: this.sizeBytes,
      partBytes: this.partBytes,
      validator: this.#validator,
      done: Buffer.from(this.#done).toString('base64'),
      begun: [...this.#begun].map(([part, bytes]) => ({ part, bytes })),
    };
  }
}
