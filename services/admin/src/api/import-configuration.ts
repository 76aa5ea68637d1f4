import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@wharf/errors';
import type { ImportConfigurationRequest, ImportConfigurationResponse } from '@wharf/proto/admin';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import { readDocument, readSecrets } from '../domain/configuration-document.ts';
import type { ConfigurationState } from '../domain/export-document.ts';
import { type ImportedRecord, type ImportPlan, planImport } from '../domain/plan-import.ts';
import { planSave } from '../domain/plan-save.ts';
import { randomToken } from '../domain/random-token.ts';
import type { Storage } from '../domain/storage.ts';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { Counters } from '../store/counters.ts';
import { insertWithId } from '../store/insert-with-id.ts';
import { askOthers, type ConfigurationParts, readState } from './export-configuration.ts';
import { decryptUnder } from './passphrase.ts';

interface ImportParts extends ConfigurationParts {
  readonly counters: Counters;
  readonly starter: StorageStarter;
  readonly announceChange: AnnounceChange;
}

/**
 * Checks every record first: when one is not valid, nothing is written. A record may still fail while it is written, because another call
 * changed something in between, or because the login of whoever imports has ended. The report names it, and the other records stay.
 */
export const importConfiguration =
  (parts: ImportParts) =>
  async (
    { document, passphrase, dry_run }: ImportConfigurationRequest,
    call: Call,
    login: LoginOfNow,
  ): Promise<ImportConfigurationResponse> => {
    const read = await readDocument(document, call.signal);
    if (read.encrypted && passphrase === '')
      throw new AppError('INVALID_ARGUMENT', 'the secrets of this file are encrypted: give the passphrase');
    const secrets = read.encrypted && readSecrets(await decryptUnder(passphrase, read.encrypted));
    const state = { ...(await readState(parts, await askOthers(parts, call))), unknowablePassword: randomToken };
    const plan = await planImport(read, secrets, state, call.signal);
    const isRefused = plan.settled.some(({ outcome }) => outcome === 'failed');
    if (isRefused || dry_run) {
      const planned = [...plan.settings, ...plan.users, ...plan.storages, ...plan.rules].map(({ record }) => record);
      return { records: [...plan.settled, ...planned], is_written: false, revision: await parts.counters.revision() };
    }
    return write(parts, { plan, state }, call, login);
  };

/** What is to be written, and what there was when that was decided: what a file leaves out is kept of that, and users have the names that they had then. */
interface Planned {
  readonly plan: ImportPlan;
  readonly state: Pick<ConfigurationState, 'storages' | 'rules' | 'users'>;
}

/** In the order of a report. */
const KINDS: readonly ImportedRecord['kind'][] = ['setting', 'user', 'storage', 'rule'];

/**
 * What guards comes before what opens: rules are written and announced before anybody is given more, or anything is mounted. Only new users, whose passwords
 * nobody knows, come before them, as rules name them. Where a rule cannot be written, nothing is opened.
 */
async function write(parts: ImportParts, planned: Planned, call: Call, login: LoginOfNow): Promise<ImportConfigurationResponse> {
  const { starter, announceChange, users } = parts;
  const { plan } = planned;
  const records: ImportedRecord[] = [];
  const attempting =
    (ask: LoginOfNow): Attempt =>
    async (record, action) => {
      try {
        await ask();
        await action();
        records.push(record);
      } catch (error) {
        records.push({ ...record, outcome: 'failed', note: AppError.from(error).message });
      }
    };

  const attempt = attempting(login);
  const ids = new Map(planned.state.users.map(({ username, id }) => [username, id]));
  for (const { record, id, fields } of plan.users)
    if (id === undefined) await attempt(record, async () => ids.set(fields.username, await users.create(call, fields, randomToken())));
  // One rule may open what another one closes further down: a login that ends between them has all of them written.
  let asked: Promise<void> | undefined;
  const attemptRule = attempting(() => (asked ??= login()));
  await writeRules(parts, planned, ids, attemptRule);
  if (plan.rules.length > 0) await announceChange();

  const isGuarded = records.every(({ kind, outcome }) => kind !== 'rule' || outcome !== 'failed');
  const toStart = await open(parts, planned, call, isGuarded ? attempt : (record) => attempt(record, refuse));

  const isWritten = records.some(({ outcome }) => outcome === 'created' || outcome === 'updated');
  // A write that failed may still have reached the store.
  const revision = await announceChange();
  starter.startInBackground(toStart, revision);
  const reported = records.toSorted((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
  return { records: [...plan.settled, ...reported], is_written: isWritten, revision };
}

/** @returns storages that are to be started */
async function open(parts: ImportParts, { plan, state }: Planned, call: Call, attempt: Attempt): Promise<Storage[]> {
  const { settings, storages, counters, clock, users } = parts;
  const items = plan.settings.map(({ item }) => item);
  // All of them, or none.
  let saving: Promise<unknown> | undefined;
  const save = () => (saving ??= settings.change((saved) => planSave(saved, items)));
  for (const { record } of plan.settings) await attempt(record, save);

  for (const { record, id, fields } of plan.users) if (id !== undefined) await attempt(record, () => users.update(call, { ...fields, id }));

  const toStart: Storage[] = [];
  const versions = new Map(state.storages.map((storage) => [storage.id, storage.version]));
  for (const { record, id, fields } of plan.storages)
    await attempt(record, async () => {
      const now = new Date(clock());
      const stored = id ?? (await insertWithId(counters, 'storages', 0, (free) => storages.insert(free, fields, now)));
      toStart.push(id === undefined ? await storages.get(stored) : await storages.replace(id, fields, now, versions.get(id)));
    });
  return toStart;
}

const refuse = () =>
  Promise.reject(new AppError('FAILED_PRECONDITION', 'not written: a rule of the file, which may guard it, could not be'));

/** Somebody may have entered another password, which the file leaves out. */
function changedMeanwhile(): AppError {
  return new AppError('STALE_VERSION', 'not written: what is here was changed since the import began, try again');
}

type Attempt = (record: ImportedRecord, action: () => Promise<unknown>) => Promise<void>;

/** @param ids of users by name: somebody may take the name of one who could not be made */
async function writeRules(
  { rules, counters }: ImportParts,
  { plan, state }: Planned,
  ids: ReadonlyMap<string, number>,
  attempt: Attempt,
): Promise<void> {
  const [before, now] = [state.rules, await rules.list()].map((all) => new Map(all.map((rule) => [rule.id, rule])));
  // One rule may open what another one closes further down.
  const areAsBefore = plan.rules.every(({ id }) => id === undefined || isDeepStrictEqual(before?.get(id), now?.get(id)));
  const areKnown = plan.rules.every(({ fields }) => [...fields.readers, ...fields.writers].every((name) => ids.has(name)));
  for (const { record, id, fields } of plan.rules)
    await attempt(record, async () => {
      const { readers, writers, ...rest } = fields;
      const rule = { ...rest, read_users: idsOf(readers, ids), write_users: idsOf(writers, ids) };
      if (!areAsBefore) throw changedMeanwhile();
      if (!areKnown) return refuse();
      if (id === undefined) await insertWithId(counters, 'rules', 0, (free) => rules.insert(free, rule));
      else await rules.replace(id, rule);
    });
}

/** @throws AppError RECORD_NOT_FOUND: a user could not be made */
function idsOf(names: readonly string[], ids: ReadonlyMap<string, number>): number[] {
  return names.map((name) => {
    const id = ids.get(name);
    if (id === undefined) throw new AppError('RECORD_NOT_FOUND', `there is no user ${name}`);
    return id;
  });
}
