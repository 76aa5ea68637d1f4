import { Binary, BSONRegExp, ObjectId } from 'bson';
import { isDoc, isNumber, type NumberValue, numeric, type Value } from './value.ts';

/** First byte of each encoded value; the order of these bytes is the order of the types. */
export const KEY_TAG = {
  /** An empty array on an indexed path: below null. */
  emptyArray: 0x08,
  null: 0x10,
  number: 0x20,
  string: 0x30,
  object: 0x40,
  array: 0x50,
  binary: 0x60,
  objectId: 0x68,
  boolean: 0x70,
  date: 0x78,
  regex: 0x7c,
} as const;

/** One component of a key: a value, or the mark of an empty array. */
export type KeyPart = Value | typeof EMPTY_ARRAY;
export const EMPTY_ARRAY = Symbol('empty array');

const END = 0x00;
/** Before what would be END or itself inside a text. */
const ESCAPE = 0x01;

/**
 * Writes values so that comparing the bytes compares the values (README, "Index keys").
 *
 * Every encoding is self-delimiting, so several values may follow each other in one key, each ascending or descending.
 */
export class KeyWriter {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  /** A copy of what was written; the writer is empty afterwards. */
  take(): Buffer {
    const result = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return result;
  }

  /** Appends one component; a descending one has all its bits inverted. */
  writePart(part: KeyPart, descending: boolean): void {
    const start = this.#length;
    if (part === EMPTY_ARRAY) this.#byte(KEY_TAG.emptyArray);
    else this.#value(part);
    if (descending) for (let i = start; i < this.#length; i++) this.#bytes[i] = ~(this.#bytes[i] ?? 0) & 0xff;
  }

  #value(value: Value): void {
    this.#byte(keyTag(value));
    this.#payload(value);
  }

  #payload(value: Value): void {
    if (value === null) return;
    if (typeof value === 'string') this.#text(value);
    else if (typeof value === 'boolean') this.#byte(value ? 1 : 0);
    else if (isNumber(value)) this.#number(value);
    else if (value instanceof Date) this.#date(value);
    else if (value instanceof ObjectId) this.#raw(value.id);
    else if (Array.isArray(value)) {
      for (const element of value) this.#value(element);
      this.#byte(END);
    } else if (value instanceof Binary) {
      this.#reserve(4);
      this.#length = this.#bytes.writeUInt32BE(value.length(), this.#length);
      this.#byte(value.sub_type);
      this.#raw(value.value());
    } else if (value instanceof BSONRegExp) {
      this.#text(value.pattern);
      this.#text(value.options);
    } else if (isDoc(value)) {
      for (const name of Object.keys(value)) {
        const field = value[name] ?? null;
        this.#byte(keyTag(field));
        this.#text(name);
        this.#payload(field);
      }
      this.#byte(END);
    }
  }

  /** 00 ends the text; inside it 00 is 01 01 and 01 is 01 02, so that no text's bytes begin another's, and order is kept in both directions. */
  #text(text: string): void {
    const sizeBytes = Buffer.byteLength(text);
    this.#reserve(sizeBytes);
    if (!text.includes('\0') && !text.includes('\u0001')) {
      this.#length += this.#bytes.write(text, this.#length);
    } else {
      for (const byte of Buffer.from(text)) {
        if (byte <= ESCAPE) this.#byte(ESCAPE);
        this.#byte(byte <= ESCAPE ? byte + 1 : byte);
      }
    }
    this.#byte(END);
  }

  /**
   * The nearest double, ordered, then what the value has beyond that double.
   *
   * Only a long above 2^53 has such a rest, of at most ±512 (half the distance between doubles at 2^63). Equal numbers of different types
   * thus have equal bytes.
   */
  #number(value: NumberValue): void {
    const exact = numeric(value);
    const nearest = Number(exact);
    this.#reserve(10);
    const at = this.#length;
    this.#length += 10;
    if (Number.isNaN(nearest)) {
      this.#bytes.fill(0, at, at + 10);
      return;
    }
    this.#bytes.writeDoubleBE(nearest === 0 ? 0 : nearest, at);
    if (nearest < 0) for (let i = at; i < at + 8; i++) this.#bytes[i] = ~(this.#bytes[i] ?? 0) & 0xff;
    else this.#bytes[at] = (this.#bytes[at] ?? 0) | 0x80;
    this.#bytes.writeUInt16BE(0x8000 + (typeof exact === 'bigint' ? Number(exact - BigInt(nearest)) : 0), at + 8);
  }

  #date(value: Date): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value.getTime()) + 2n ** 63n), this.#length);
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  #reserve(sizeBytes: number): void {
    const needed = this.#length + sizeBytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

export function encodeValue(value: Value): Buffer {
  const writer = new KeyWriter();
  writer.writePart(value, false);
  return writer.take();
}

/** The encoding as a Map key: two values have the same identity exactly when they are equal. */
export function valueIdentity(value: Value): string {
  return encodeValue(value).toString('latin1');
}

export function keyTag(value: Value): number {
  if (value === null) return KEY_TAG.null;
  if (typeof value === 'string') return KEY_TAG.string;
  if (typeof value === 'boolean') return KEY_TAG.boolean;
  if (isNumber(value)) return KEY_TAG.number;
  if (value instanceof Date) return KEY_TAG.date;
  if (value instanceof ObjectId) return KEY_TAG.objectId;
  if (Array.isArray(value)) return KEY_TAG.array;
  if (value instanceof Binary) return KEY_TAG.binary;
  return value instanceof BSONRegExp ? KEY_TAG.regex : KEY_TAG.object;
}
