import type { Validator } from './source.ts';

/** How far a download in parts has come, as it is kept: what is not marked is fetched again. */
export interface SavedParts {
  readonly sizeBytes: number;
  readonly partBytes: number;
  readonly validator: Validator;
  /** One bit for each part, the lowest first, as base64. */
  readonly done: string;
}

const MIB = 1024 * 1024;
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

  constructor(saved: SavedParts) {
    this.sizeBytes = saved.sizeBytes;
    this.partBytes = saved.partBytes;
    this.#validator = saved.validator;
    this.#done = new Uint8Array(Math.ceil(this.count / 8));
    this.#done.set(Buffer.from(saved.done, 'base64').subarray(0, this.#done.length));
  }

  static begin(sizeBytes: number, validator: Validator): PartMap {
    const [, partBytes = MIB] = PART_SIZES.find(([fileBytes]) => sizeBytes >= fileBytes) ?? [];
    return new PartMap({ sizeBytes, partBytes, validator, done: '' });
  }

  get count(): number {
    return Math.ceil(this.sizeBytes / this.partBytes);
  }

  /** Bytes [start, end] of a part. */
  range(part: number): { start: number; end: number } {
    const start = part * this.partBytes;
    return { start, end: Math.min(start + this.partBytes, this.sizeBytes) - 1 };
  }

  isDone(part: number): boolean {
    return ((this.#done[part >> 3] ?? 0) & (1 << (part & 7))) !== 0;
  }

  finish(part: number): void {
    this.#done[part >> 3] = (this.#done[part >> 3] ?? 0) | (1 << (part & 7));
  }

  /** The parts that are missing, from the front. */
  missing(): number[] {
    return Array.from({ length: this.count }, (_, part) => part).filter((part) => !this.isDone(part));
  }

  doneBytes(): number {
    let bytes = 0;
    for (let part = 0; part < this.count; part++) {
      const { start, end } = this.range(part);
      if (this.isDone(part)) bytes += end - start + 1;
    }
    return bytes;
  }

  save(): SavedParts {
    return {
      sizeBytes: this.sizeBytes,
      partBytes: this.partBytes,
      validator: this.#validator,
      done: Buffer.from(this.#done).toString('base64'),
    };
  }
}
