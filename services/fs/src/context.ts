import { AppError } from '@wharf/errors';
import { parseVirtualPath } from '@wharf/paths';
import { ROLE } from '@wharf/rights';
import type { AccountReads, Call, UserIdentity } from '@wharf/service-kit';
import { plainAddress, userOf } from '@wharf/service-kit';
import type { TaskCreator } from '@wharf/task-engine';
import type { Configuration } from './configuration.ts';
import type { Actor } from './domain/access/permissions.ts';
import type { Changes } from './domain/changing/changes.ts';
import type { Operation } from './domain/changing/operations/operation.ts';
import { areSameRules, busy, RENEW_MS } from './domain/changing/operations/rights-of-now.ts';
import type { TakeTurn } from './domain/changing/place-turns.ts';
import type { FolderCache } from './domain/reading/folder-cache.ts';
import type { KeptLinks } from './domain/reading/kept-links.ts';
import type { Snapshot } from './domain/snapshot/snapshot.ts';
import type { LinkOptions } from './driver-contract/storage-driver.ts';
import type { Once } from './store/answered-calls.ts';
import type { FsTasks } from './tasks/fs-tasks.ts';
import type { Thumbnails } from './thumbnails/thumbnails.ts';

/** What the handlers of this service work with. */
export interface FsContext {
  readonly configuration: Configuration;
  readonly folderCache: FolderCache;
  readonly links: KeptLinks;
  readonly changes: Changes;
  readonly thumbnails: Thumbnails;
  readonly tasks: FsTasks;
  readonly accounts: Pick<AccountReads, 'findSessionUser'>;
  /** Where files are replaced under a condition. */
  readonly takeTurn: TakeTurn;
  readonly once: Once;
}

export function actorOf(identity: UserIdentity): Actor {
  const { id, role, permission } = identity;
  return { id, role, permission, basePath: parseVirtualPath(identity.basePath) };
}

/** For whom a link of a storage is, as far as the gateway tells. */
export function linkOptionsOf({ signal, address, agent }: Call): LinkOptions {
  return { signal, client: address === undefined ? undefined : { address, agent } };
}

/** The user who owns the tasks that a call makes. @throws AppError UNAUTHENTICATED */
export function creatorOf(call: Call): TaskCreator {
  const { id, username, role } = userOf(call);
  return { id, name: username, role };
}

/** Whose an upload is that a call begins. @throws AppError UNAUTHENTICATED */
export function uploaderOf(call: Call): { userName: string; address: string | undefined } {
  const { username, role } = userOf(call);
  return { userName: username, address: role === ROLE.guest ? plainAddress(call.address ?? '') : undefined };
}

/** Who reads, and under which configuration. */
export type Reading = Pick<Operation, 'snapshot' | 'actor' | 'signal'>;

/** The frame of a handler that only reads, and waits for no storage. @throws AppError UNAUTHENTICATED */
export async function beginReading(context: FsContext, call: Call): Promise<Reading> {
  const snapshot = await context.configuration.knownSnapshot(call.revisions);
  return { snapshot, actor: actorOf(userOf(call)), signal: call.signal };
}

/** So often something is read that takes long each time, and finds other rules at its end. What a storage has listed is kept, so that once more is enough. */
const MAX_READINGS = 3;

/**
 * The frame of a handler that reads what a storage may take long to tell. Where there are other rules at its end than those it was read by, it is read anew.
 *
 * @throws AppError UNAUTHENTICATED | OVERLOADED: there were other rules each time | what `read` throws
 */
export async function readByRulesOfNow<Answer>(
  context: FsContext,
  call: Call,
  read: (reading: Reading, isAgain: boolean) => Promise<Answer>,
): Promise<Answer> {
  /** By itself: what it has read, which may be long, would stay in memory while the next reads it again. */
  const readOnce = async (isAgain: boolean): Promise<{ readonly answer: Answer } | undefined> => {
    const beganAtMs = performance.now();
    const reading = await beginReading(context, call);
    const answer = await read(reading, isAgain);
    if (performance.now() - beganAtMs < RENEW_MS) return { answer };
    const now = await context.configuration.knownSnapshot(call.revisions);
    return (await areSameRules(now, reading.snapshot)) ? { answer } : undefined;
  };
  for (let readings = 1; readings <= MAX_READINGS; readings += 1) {
    const done = await readOnce(readings > 1);
    if (done) return done.answer;
  }
  throw busy();
}

/** The frame of a handler: who acts, and under which configuration. @throws AppError UNAUTHENTICATED */
export async function beginOperation(context: FsContext, call: Call): Promise<Operation> {
  const { cameAtMs: askedAtMs = performance.now() } = call;
  const snapshot = await context.configuration.snapshot(call.revisions);
  const newest = () => context.configuration.knownSnapshot(call.revisions);
  const { signal } = call;
  const renewed = async (until = signal): Promise<Operation> => {
    const operation = await context.tasks.operationOf({ creator: creatorOf(call), signal: until });
    await requireLogin(context, userOf(call), snapshot, operation.snapshot);
    return { ...operation, renewed };
  };
  const { changes, folderCache } = context;
  return { snapshot, actor: actorOf(userOf(call)), changes, folderCache, signal, askedAtMs, renewed, newest };
}

/** @throws AppError UNAUTHENTICATED: the login that the call came with has ended, by whatever way */
async function requireLogin({ accounts }: FsContext, caller: UserIdentity, before: Snapshot, now: Snapshot): Promise<void> {
  const isValid =
    caller.sessionId === ''
      ? // The guest has no login; the permanent token is the key of all links.
        caller.role !== ROLE.admin || before.signer.sign('/', 0) === now.signer.sign('/', 0)
      : (await accounts.findSessionUser(caller.sessionId))?.user?.username === caller.username;
  if (!isValid) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
}
