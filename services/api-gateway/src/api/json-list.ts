import type { JsonPiece } from './route.ts';

/** A list that comes in parts, as the bytes of its JSON: what has come is written and counted at once. */
export interface JsonList {
  /** @throws what `hold` throws */
  add(elements: readonly unknown[]): void;
  /** The whole list. */
  pieces(): readonly JsonPiece[];
}

/** @param hold called with the length so far. As texts they would lie in the heap, and take twice as much there for one letter that is not Latin */
export function createJsonList(hold: (lengthBytes: number) => void): JsonList {
  const parts: Buffer[] = [];
  let lengthBytes = 0;
  return {
    add(elements) {
      if (elements.length === 0) return;
      const text = JSON.stringify(elements).slice(1, -1);
      const part = Buffer.from(parts.length === 0 ? text : `,${text}`);
      lengthBytes += part.length;
      hold(lengthBytes);
      parts.push(part);
    },
    pieces: () => ['[', ...parts, ']'],
  };
}
