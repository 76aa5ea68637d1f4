import {
  closedRule,
  type Models,
  type RuleRecord,
  readAdminRevision,
  readAuthRevision,
  readPermanentToken,
  readRules,
  readSettingsRecord,
  readStorages,
  settingsFrom,
} from '@wharf/models';
import { parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { createRevisionedCache, type Revisions, type ServiceKit, unseal } from '@wharf/service-kit';
import { createLinkSigner } from './domain/access/link-signer.ts';
import { createRuleBookInTurns } from './domain/access/rule-book.ts';
import { createMountTable, type MountTable } from './domain/mounts/mount-table.ts';
import type { Mount, Mounts } from './domain/mounts/mounts.ts';
import { createQuotas } from './domain/quota/quota.ts';
import type { Snapshot } from './domain/snapshot/snapshot.ts';
import { createKeptQuotas } from './store/kept-quotas.ts';
import { createQuotaLedger } from './store/quota-ledger.ts';

/** The configuration as admin and auth wrote it, never older than the caller's revisions nor than a few seconds. */
export interface Configuration {
  /** The same object as long as nothing has changed. */
  snapshot(revisions: Revisions): Promise<Snapshot>;
  /** The same for what only reads: while the store does not answer, as it was up to a minute ago. */
  knownSnapshot(revisions: Revisions): Promise<Snapshot>;
  /** Something that admin owns changed. */
  invalidate(): void;
  /** The permanent token or a quota may have changed. */
  invalidateToken(): void;
}

/** @param mounts is given every new list of storages before a snapshot with it is answered. */
export function createConfiguration(kit: ServiceKit, models: Models, mounts: Mounts): Configuration {
  const openRule = (rule: RuleRecord) => ({ ...rule, password: rule.password && unseal(kit.keys.atRest, rule.password) });
  const onClosed = (error: unknown, { _id, path }: RuleRecord): void =>
    kit.logger.error({ err: error, rule: _id, path }, 'a rule cannot be read: all but admins are kept from its path, save or delete it');
  const close = (error: unknown, rule: RuleRecord) => {
    onClosed(error, rule);
    return closedRule(rule);
  };
  const parts = createRevisionedCache({
    clock: kit.clock,
    readRevision: () => readAdminRevision(models),
    load: () => Promise.all([readStorages(models), readRules(models, onClosed), readSettingsRecord(models)]),
    make: async ([storages, sealed, settings]) => {
      const rules = await createRuleBookInTurns(sealed, openRule, close);
      // From here on in one turn: whoever has the snapshot before this one still asks for its mounts.
      const byId = mounts.apply(storages);
      const mountable = storages.filter((storage) => byId.has(storage._id));
      const table: MountTable<Mount> = createMountTable(mountable, (storage) => known(byId, storage._id));
      return { table, rules, settings: settingsFrom(settings) };
    },
  });
  const limitOf = (id: number, bytes: number, basePath: string): [number, { bytes: number; basePath: VirtualPath }][] => {
    try {
      return [[id, { bytes, basePath: parseVirtualPath(basePath) }]];
    } catch (error) {
      // Nobody is let in by such a base path, so that nothing is stored below it.
      kit.logger.error({ err: error, user: id }, 'the base path of a user who has a quota is none');
      return [];
    }
  };
  const quotas = createKeptQuotas(models, kit.clock);
  const quotasOver = createQuotas(createQuotaLedger(models, kit.clock), kit.clock);
  const ofAccounts = createRevisionedCache({
    clock: kit.clock,
    readRevision: () => readAuthRevision(models),
    load: () => Promise.all([readPermanentToken(models), quotas.read()]),
    make: ([sealed, found]) => {
      if (sealed === undefined) throw new Error('there is no permanent token yet: has the auth service started?');
      const limits = new Map([...found].flatMap(([id, { bytes, basePath }]) => limitOf(id, bytes, basePath)));
      return { signer: createLinkSigner(unseal(kit.keys.atRest, sealed), kit.clock), quotas: quotasOver(limits) };
    },
  });
  let last: Snapshot | undefined;
  const snapshotOf = async (revisions: Revisions, how: 'get' | 'getKept'): Promise<Snapshot> => {
    const { table, rules, settings } = parts.peek(revisions.admin) ?? (await parts[how](revisions.admin));
    const links = ofAccounts.peek(revisions.auth) ?? (await ofAccounts[how](revisions.auth));
    // The same configuration is the same snapshot object. What was made under a snapshot may be cached with it.
    if (last?.table !== table || last.signer !== links.signer) last = { table, rules, settings, ...links };
    return last;
  };
  return {
    snapshot: (revisions) => snapshotOf(revisions, 'get'),
    knownSnapshot: (revisions) => snapshotOf(revisions, 'getKept'),
    invalidate: () => parts.invalidate(),
    invalidateToken: () => ofAccounts.invalidate(),
  };
}

function known(mounts: ReadonlyMap<number, Mount>, id: number): Mount {
  const mount = mounts.get(id);
  if (!mount) throw new Error(`storage ${id} is not mounted`);
  return mount;
}
