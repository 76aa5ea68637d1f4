import type { EnvelopeCodes } from './envelope.ts';

/** Carries one part of an upload by the family's calls. */
const PART_PATH = '/api/fs/multipart/chunk';

/** Clients of the family wait and send the part again after 429 and 409, and give up after anything else: what passes is one of these. */
const PASSING: EnvelopeCodes = { OVERLOADED: 429, STORAGE_UNAVAILABLE: 429, DEADLINE_EXCEEDED: 429 };

/** Codes of failures of a part alone; undefined for other routes. */
export function partCodes(path: string): EnvelopeCodes | undefined {
  return path === PART_PATH ? PASSING : undefined;
}
