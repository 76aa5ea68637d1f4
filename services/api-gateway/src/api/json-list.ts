/** A list that comes in parts, as the text of its JSON: what has come is written and counted at once. */
export interface JsonList {
  /** @throws what `hold` throws */
  add(elements: readonly unknown[]): void;
  /** The whole list. */
  pieces(): readonly string[];
}

/** @param hold called with the length of all texts so far */
export function createJsonList(hold: (length: number) => void): JsonList {
  const texts: string[] = [];
  let length = 0;
  return {
    add(elements) {
      if (elements.length === 0) return;
      const text = JSON.stringify(elements).slice(1, -1);
      length += text.length;
      hold(length);
      texts.push(texts.length === 0 ? text : `,${text}`);
    },
    pieces: () => ['[', ...texts, ']'],
  };
}
