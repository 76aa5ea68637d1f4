import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import { z } from 'zod';
import { beganElsewhere, readBegun } from '../../driver-contract/begun-removal.ts';
import { type CallOptions, type RemoveOptions, supports } from '../../driver-contract/storage-driver.ts';
import { isNotThere, storageError } from '../../driver-contract/storage-error.ts';
import { type Found, isPassedOver, operationOf, type Place } from './place.ts';

/** What each of the folders said, by its path: their order may be another one when it is gone on with. */
const begunShape = z.array(z.tuple([z.string(), z.string()]));
type Begun = z.output<typeof begunShape>;

/** An entry that is to go, and the folders that it goes from. */
interface Doomed {
  readonly where: { readonly path: MountPath };
  readonly targets: readonly Found[];
}

/**
 * Begins removals in each of the folders that are concerned, all of one folder together. What one of several cannot begin goes at once.
 *
 * @param looks where each entry was found, or why it was not. @returns as `beginRemoval`
 */
export async function beginIn(
  looks: readonly PromiseSettledResult<Doomed>[],
  options: CallOptions,
): Promise<(string | undefined | AppError)[]> {
  const failures = looks.map((look) => (look.status === 'rejected' ? AppError.from(look.reason) : undefined));
  const begun: Begun[] = looks.map(() => []);
  const doomed = looks.flatMap((look, index) => (look.status === 'fulfilled' ? [{ ...look.value, index }] : []));
  const parts = doomed.flatMap(({ where, targets, index }) =>
    targets.map((target) => ({ where, target, index, isAlone: targets.length === 1 })),
  );
  for (const own of Map.groupBy(parts, ({ target }) => target.place).values()) {
    const place = own[0]?.target.place.path ?? '';
    const answers = await beginTogether(own, options);
    for (const [at, { index }] of own.entries()) {
      const answer = answers[at];
      if (AppError.is(answer)) failures[index] ??= isNotThere(answer) ? undefined : answer;
      else if (answer !== undefined) begun[index]?.push([place, answer]);
    }
  }
  // What has lost its name somewhere is to go, whatever another folder says: what stays there is still shown.
  return begun.map((own, index) => (own.length > 0 ? JSON.stringify(own) : failures[index]));
}

/**
 * Goes on with a removal in each folder in which it has begun, and that is still shown.
 *
 * @throws AppError STALE_VERSION | FAILED_PRECONDITION (another storage is in the place of one: nothing of it goes, and all of the others); what the first says
 * that is away, of which the same holds, or fails otherwise
 */
export async function goOnRemoving(places: readonly Place[], path: MountPath, options: RemoveOptions, noted: string): Promise<void> {
  let [stale, elsewhere, away]: unknown[] = [];
  const nextSteps = countOn(options.beforeStep);
  for (const [folder, begun] of readBegun(begunShape, noted)) {
    const place = places.find((each) => each.path === folder);
    if (place === undefined) continue;
    try {
      const driver = await place.driver();
      // Another storage is there by now.
      if (!supports(driver, 'beginRemoval')) throw beganElsewhere();
      await operationOf(driver, 'remove')(path, { ...options, begun, beforeStep: nextSteps() });
    } catch (error) {
      if (AppError.is(error, 'STALE_VERSION')) stale = error;
      else if (AppError.is(error, 'FAILED_PRECONDITION')) elsewhere ??= error;
      else if (isPassedOver(error)) away ??= error;
      else if (!isNotThere(error)) throw error;
    }
  }
  // Whoever goes on once more finds what is here now, too.
  if (away !== undefined) throw away;
  if (elsewhere !== undefined) throw elsewhere;
  if (stale !== undefined) throw stale;
}

/** For each of several removals that are one: the steps of each are counted on from those before. */
export function countOn(beforeStep: RemoveOptions['beforeStep']): () => RemoveOptions['beforeStep'] {
  let [before, latest] = [0, 0];
  return () => {
    before += latest;
    latest = 0;
    return (
      beforeStep &&
      ((removed) => {
        latest = removed;
        return beforeStep(before + removed);
      })
    );
  };
}

/** What is to go from one folder. */
interface Part {
  readonly where: Doomed['where'];
  readonly target: Found;
  /** No other folder is concerned: whoever asks removes at once what cannot be begun. */
  readonly isAlone: boolean;
}

/** @param own of one folder. @returns as `beginRemoval`: another folder may have begun, so that nothing is thrown */
async function beginTogether(own: readonly Part[], options: CallOptions): Promise<(string | undefined | AppError)[]> {
  const paths = own.map(({ where }) => where.path);
  const driver = own[0]?.target.driver;
  const cannot = storageError('UNSUPPORTED_OPERATION');
  const answers =
    driver && supports(driver, 'beginRemoval')
      ? await driver.beginRemoval(paths, options).catch((error: unknown) => paths.map(() => AppError.from(error)))
      : paths.map(() => cannot);
  const begun: (string | undefined | AppError)[] = [];
  for (const [at, part] of own.entries()) {
    const answer = answers[at];
    begun.push(AppError.is(answer, 'UNSUPPORTED_OPERATION') && !part.isAlone ? await removeNow(part, options) : answer);
  }
  return begun;
}

function removeNow({ where, target }: Part, options: CallOptions): Promise<undefined | AppError> {
  const remove = async () => operationOf(target.driver, 'remove')(where.path, { ...options, recursive: true });
  return remove().then(
    () => undefined,
    (error: unknown) => AppError.from(error),
  );
}
