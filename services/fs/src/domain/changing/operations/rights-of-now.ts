import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@wharf/errors';
import { isSame } from '@wharf/pace';
import { isWithin, type VirtualPath } from '@wharf/paths';
import { denied } from '../../access/permissions.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { callOf, type Operation, type OwnCall } from './operation.ts';

/** After so long within one call, or one step of it, in milliseconds, its login, rights and rules are asked for again. */
export const RENEW_MS = 2_000;

/** So often they are asked for while the store does not answer, each time for the seconds that it may take to come back. */
const MAX_TRIES = 5;

/** Asked before each step of a change. Rejects with PERMISSION_DENIED | UNAUTHENTICATED, and what the store throws. */
export type RightsOfNow = () => Promise<Operation>;

/**
 * A change of many entries, as it is now: a storage may take an hour for all of them, and whoever is disabled on the way, or may no more, goes on for a moment
 * only. The operation itself is answered as long as it is young.
 *
 * @param paths where it changes something: the caller's root may be another one by then
 */
export function rightsOfNow(operation: Operation, paths: readonly VirtualPath[]): RightsOfNow {
  let [known, askedAtMs] = [operation, operation.askedAtMs];
  return async () => {
    if (!operation.renewed || performance.now() - askedAtMs < RENEW_MS) return known;
    const now = await patiently(operation.renewed, operation.signal);
    if (!paths.every((path) => isWithin(now.actor.basePath, path))) throw denied();
    [known, askedAtMs] = [now, performance.now()];
    return known;
  };
}

/** An hour's work, of which all may have to go back, does not end because the store is away for a moment: it waits. */
export async function patiently(renewed: () => Promise<Operation>, signal: AbortSignal): Promise<Operation> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await renewed();
    } catch (error) {
      const isRefused = AppError.is(error, 'PERMISSION_DENIED') || AppError.is(error, 'UNAUTHENTICATED');
      if (isRefused || tries === MAX_TRIES || signal.aborted) throw error;
    }
  }
}

/**
 * The operation of now, in which a step may be made that was looked at under an earlier one. The look may take minutes, as of a long folder: it is by the rights of
 * then, so they are asked for again until nothing has changed.
 *
 * @param check what is asked anew of the operation; throws where the step may be made no more. @param look at what is in an entry, where other rules or rights may
 * hide something there
 */
export async function stillAllowed(
  begun: Operation,
  now: RightsOfNow,
  check: (operation: Operation) => void,
  look: (operation: Operation) => Promise<void>,
): Promise<Operation> {
  let looked = begun;
  for (;;) {
    const operation = await now();
    if (operation === looked) return operation;
    check(operation);
    if (mayHideMore(operation, looked)) await look(operation);
    looked = operation;
  }
}

/**
 * What an operation gives with a change that it asks a storage for: where that comes to it late, for its turn or for looks of its own, and what allowed the change
 * is not as it was, it is not made.
 */
export function changeCallOf(operation: Operation): OwnCall {
  // Looks of ours before it may have taken long, too.
  let { askedAtMs } = operation;
  const afterWaiting = async () => {
    if (performance.now() - askedAtMs < RENEW_MS) return;
    await requireUnchanged(operation);
    askedAtMs = performance.now();
  };
  return { ...callOf(operation), afterWaiting };
}

/** @throws AppError OVERLOADED: whoever asks again is told what holds now | UNAUTHENTICATED | PERMISSION_DENIED | what the store throws */
async function requireUnchanged(operation: Operation): Promise<void> {
  if (!operation.renewed) return;
  const now = await patiently(operation.renewed, operation.signal);
  if (!isDeepStrictEqual(now.actor, operation.actor)) throw busy();
  if (!(await areSameRules(now.snapshot, operation.snapshot))) throw busy();
}

/** Whoever asks again is told what holds now. */
export function busy(): AppError {
  return new AppError('OVERLOADED', 'the storage is busy, try again in a moment');
}

/** All calls that wait compare the same two lists, which may have thousands of rules. */
const compared = new WeakMap<object, WeakMap<object, Promise<boolean>>>();

/** Whether two configurations have rules that say the same. */
export function areSameRules({ rules: { records: now } }: Snapshot, { rules: { records: before } }: Snapshot): Promise<boolean> | boolean {
  if (now === before) return true;
  const known = compared.get(now) ?? new WeakMap<object, Promise<boolean>>();
  compared.set(now, known);
  const areSame = known.get(before) ?? isSame(now, before);
  known.set(before, areSame);
  return areSame;
}

/** Whether what is in a folder is looked through once more: only other rules, or other rights, can say something else. */
export function mayHideMore({ snapshot, actor }: Operation, before: Operation): boolean {
  const { role, permission, basePath } = before.actor;
  return snapshot.rules !== before.snapshot.rules || actor.role !== role || actor.permission !== permission || actor.basePath !== basePath;
}

/** The same for who cannot look at once: rules that were only read anew, as with any change of the configuration, say nothing else. */
export async function mayHideOther(now: Operation, before: Operation): Promise<boolean> {
  if (!mayHideMore(now, before)) return false;
  const hasOtherRights = mayHideMore({ ...now, snapshot: before.snapshot }, before);
  return hasOtherRights || !(await areSameRules(now.snapshot, before.snapshot));
}
