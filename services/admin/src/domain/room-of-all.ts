import { AppError } from '@wharf/errors';

/** Of all records of a kind together, in bytes: admin and each fs have them in memory, and nothing else would end. */
const MAX_ALL_BYTES = 16 * 1024 * 1024;

/** Told of each record that is to be written. @param written the id of the one that is replaced, undefined: it is new */
export type TakeRoom<Fields> = (fields: Fields, written: number | undefined) => void;

/**
 * Makes what refuses a record that all together have no room for. One that becomes smaller is taken.
 *
 * @param kind their name, for the admin. @param present those that there are
 */
export function createRoomOfAll<Fields, Present extends Fields & { readonly id: number }>(
  kind: string,
  present: readonly Present[],
  bytesOf: (fields: Fields) => number,
): TakeRoom<Fields> {
  const sizes = new Map(present.map((each) => [each.id, bytesOf(each)]));
  let total = sizes.values().reduce((sum, bytes) => sum + bytes, 0);
  return (fields, written) => {
    const growth = bytesOf(fields) - (written === undefined ? 0 : (sizes.get(written) ?? 0));
    if (growth > 0 && total + growth > MAX_ALL_BYTES)
      throw new AppError('QUOTA_EXCEEDED', `the ${kind} have more than 16 MiB together: shorten texts, or delete some first`);
    total += growth;
  };
}
