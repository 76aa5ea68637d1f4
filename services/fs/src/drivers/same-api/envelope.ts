import { ownText } from '@wharf/pace';
import { z } from 'zod';
import { badAnswer } from '../../driver-contract/storage-error.ts';

/** What every answer of the API is. */
export interface Envelope {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

const shape = z.object({ code: z.int(), message: z.string().catch(''), data: z.unknown().optional() });

/** One item of the list. */
const MAX_ITEM_LENGTH = 256 * 1024;
/** All but the items: texts that are shown around a listing are in it. */
const MAX_REST_LENGTH = 4 * 1024 * 1024;
/** Levels of an answer, and of an item in it. */
const MAX_DEPTH = 32;
/** Values of an item, and of all but the items, where each has some ten: parsing cannot be divided, and values need a hundred times the memory of their text. */
const MAX_VALUES = 10_000;

/**
 * Reads an answer as it comes: items of one list in `data` one after the other, and at the end the envelope with that list empty. Items come only
 * of an answer that has said 200 before them.
 *
 * @param listed the name of the list
 * @throws AppError STORAGE_UNAVAILABLE: no envelope, one that breaks off, or that is too long
 */
export async function* readEnvelope(body: AsyncIterable<Uint8Array>, listed: string): AsyncGenerator<unknown, Envelope> {
  const scanner = new Scanner(listed);
  const decoder = new TextDecoder();
  for await (const piece of body) yield* scanner.take(decoder.decode(piece, { stream: true }));
  yield* scanner.take(decoder.decode());
  return scanner.end();
}

/** Splits JSON text without building what it does not hand out. */
class Scanner {
  readonly #listed: string;
  /** Keys above the place that is read, by level. */
  readonly #keys: string[] = [];
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The text from the begin of the item, or of a string outside of items, on. */
  #item = '';
  #string = '';
  #rest = '';
  /** In the item, or in all that is no item. */
  #itemValues = 0;
  #restValues = 0;
  #isItem = false;
  #hasListed = false;

  constructor(listed: string) {
    this.#listed = listed;
  }

  *take(text: string): Generator<unknown, void> {
    let from = 0;
    const keep = (to: number) => {
      if (this.#isItem) this.#item += text.slice(from, to);
      // A part of a piece would keep the piece for as long as the answer lasts.
      else if (!this.#isBetweenItems()) this.#rest += ownText(text.slice(from, to));
      from = to;
      if (this.#item.length > MAX_ITEM_LENGTH || this.#rest.length > MAX_REST_LENGTH) throw badAnswer('an answer without an end');
    };
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charCodeAt(at);
      if (this.#isInString) {
        this.#passString(character);
        continue;
      }
      switch (character) {
        case QUOTE:
          this.#isInString = true;
          this.#string = '';
          break;
        case COMMA:
          this.#count();
          break;
        case COLON:
          if (!this.#isItem) this.#keys[this.#depth] = this.#string;
          break;
        case OPEN_OBJECT:
        case OPEN_LIST:
          if (!this.#isItem && this.#isBetweenItems()) {
            if (!this.#hasListed) this.#begin();
            keep(at);
            this.#isItem = true;
          }
          this.#count();
          // The bracket that opens the list stays.
          if (!this.#isItem) keep(at + 1);
          this.#depth += 1;
          if (!this.#isItem) this.#keys.length = this.#depth;
          if (this.#depth > MAX_DEPTH) throw badAnswer('an answer of too many levels');
          break;
        case CLOSE_OBJECT:
        case CLOSE_LIST: {
          if (!this.#isItem) keep(at);
          this.#depth -= 1;
          if (this.#depth < 0) throw badAnswer('an answer that ends more often than it begins');
          if (this.#isItem && this.#depth === LIST_DEPTH) {
            keep(at + 1);
            const item = parse(this.#item);
            this.#item = '';
            this.#itemValues = 0;
            this.#isItem = false;
            yield item;
          }
          break;
        }
        default:
      }
    }
    keep(text.length);
  }

  end(): Envelope {
    if (this.#depth !== 0 || this.#isInString) throw badAnswer('an answer that breaks off');
    return envelopeOf(this.#rest);
  }

  /** One value more. Commas between items are none of either. */
  #count(): void {
    if (this.#isItem) this.#itemValues += 1;
    else if (!this.#isBetweenItems()) this.#restValues += 1;
    if (Math.max(this.#itemValues, this.#restValues) > MAX_VALUES) throw badAnswer('an answer of too many values');
  }

  #isBetweenItems(): boolean {
    return this.#depth === LIST_DEPTH && this.#keys[1] === 'data' && this.#keys[2] === this.#listed;
  }

  /** What stands before the first item must be a success. */
  #begin(): void {
    this.#hasListed = true;
    if (envelopeOf(`${this.#rest}]}}`).code !== 200) throw badAnswer('a list in a failure');
  }

  /** Keys are short; of longer texts the begin is kept. */
  #passString(character: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === BACKSLASH) this.#isEscaped = true;
    else if (character === QUOTE) this.#isInString = false;
    else if (!this.#isItem && this.#string.length < MAX_KEY_LENGTH) this.#string += String.fromCharCode(character);
  }
}

/** `{ data: { list: [`. */
const LIST_DEPTH = 3;
const MAX_KEY_LENGTH = 64;
const [QUOTE, COLON, COMMA, BACKSLASH, OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = Array.from('":,\\{}[]', (each) =>
  each.charCodeAt(0),
);

function envelopeOf(text: string): Envelope {
  const { data } = shape.safeParse(parse(text));
  if (data === undefined) throw badAnswer('no envelope');
  return { code: data.code, message: data.message, data: data.data };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer('text that is no JSON', error);
  }
}
