import { brokenBound, parseJson } from '@wharf/pace';
import type { Subject } from './bus.ts';

/** No event of ours has more: several hundred paths or ids at most. */
const BOUNDS = { maxDepth: 8, maxValues: 2_000 } as const;

/**
 * What an event says. It is counted before it is parsed, so that a wrong one costs no more than a right one.
 *
 * @throws Error that names its size and its first fault
 */
export function readEvent<Event>(subject: Subject<Event>, bytes: Uint8Array): Event {
  const size = `an event of ${bytes.length} bytes`;
  if (brokenBound(bytes, BOUNDS)) throw new Error(`${size} is too deep, or has too many values`);
  const parsed = subject.schema.safeParse(parseJson(Buffer.from(bytes).toString('utf8')));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${size}: ${issue?.path.join('.')}: ${issue?.message}`);
}
