import { createPace } from '@wharf/pace';
import { badAnswer } from '../../driver-contract/storage-error.ts';

/** One entry. */
const MAX_ITEM_LENGTH = 64 * 1024;
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [...'"\\{}'].map((character) => character.charCodeAt(0));

/**
 * The objects of `{"list": [{...}, {...}]}` as they come, each parsed alone: the answer may be as large as a folder is.
 *
 * @throws AppError STORAGE_UNAVAILABLE for what is no such answer, or ends before its end
 */
export async function* readJsonList(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<unknown, void> {
  const decoder = new TextDecoder();
  const pace = createPace(signal);
  let depth = 0;
  let hasBegun = false;
  let isInText = false;
  let isEscaped = false;
  let item = '';
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true });
    let start = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (isInText) {
        if (isEscaped) isEscaped = false;
        else if (code === BACKSLASH) isEscaped = true;
        else if (code === QUOTE) isInText = false;
      } else if (code === QUOTE) isInText = true;
      else if (code === OPEN) {
        depth += 1;
        hasBegun = true;
        if (depth === 2) start = at;
      } else if (code === CLOSE) {
        depth -= 1;
        if (depth !== 1) continue;
        yield parse(item + text.slice(start, at + 1));
        item = '';
        await pace.step();
      }
    }
    if (depth > 1) item += text.slice(start);
    if (item.length > MAX_ITEM_LENGTH) throw badAnswer('an entry without an end');
  }
  if (depth !== 0 || isInText || !hasBegun) throw badAnswer('a listing that breaks off');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer('no JSON', error);
  }
}
