import type { Pace } from '@wharf/pace';
import { AnswerAsJson, type JsonPiece } from '../api/route.ts';

/** Elements that are written before other work gets its turn. They take about a millisecond. */
const ELEMENTS_PER_PIECE = 500;
/** How far below a value lists are looked for: an envelope, its data, a field of that. */
const LEVELS = 2;

/** The text of JSON.stringify(), in pieces. Other work gets its turn while a long list is written. */
export async function writeJson(value: unknown, pace: Pace): Promise<readonly JsonPiece[]> {
  const pieces: JsonPiece[] = [];
  for (const piece of piecesOf(value, LEVELS)) {
    pieces.push(piece);
    await pace.step();
  }
  return pieces;
}

function* piecesOf(value: unknown, levels: number): Generator<JsonPiece, void> {
  if (value instanceof AnswerAsJson) yield* value.pieces;
  else if (!isLong(value, levels)) yield JSON.stringify(value);
  else if (Array.isArray(value)) {
    for (let from = 0; from < value.length; from += ELEMENTS_PER_PIECE) {
      const elements = JSON.stringify(value.slice(from, from + ELEMENTS_PER_PIECE)).slice(1, -1);
      // As a text it would lie in the heap for as long as its client takes.
      yield Buffer.from(from === 0 ? `[${elements}` : `,${elements}`);
    }
    yield ']';
  } else {
    const fields = Object.entries(Object(value)).filter(([, field]) => field !== undefined);
    for (const [index, [name, field]] of fields.entries()) {
      yield `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`;
      yield* piecesOf(field, levels - 1);
    }
    yield '}';
  }
}

/** Whether a value is a long list, is written already, or has a field that is. */
function isLong(value: unknown, levels: number): boolean {
  if (Array.isArray(value)) return value.length > ELEMENTS_PER_PIECE;
  if (value instanceof AnswerAsJson) return true;
  return levels > 0 && typeof value === 'object' && value !== null && Object.values(value).some((field) => isLong(field, levels - 1));
}
