import { createPace } from '@wharf/pace';
import type { ExportConfigurationRequest, ExportConfigurationResponse } from '@wharf/proto/admin';
import type { Call, LoginOfNow, OneByOne } from '@wharf/service-kit';
import type { FsClient } from '../clients/fs.ts';
import type { Users } from '../clients/users.ts';
import type { DriverForm } from '../domain/driver-form.ts';
import { type ConfigurationState, documentPieces, secretsOf } from '../domain/export-document.ts';
import type { RuleStore } from '../store/rule-store.ts';
import type { SettingStore } from '../store/setting-store.ts';
import type { StorageStore } from '../store/storage-store.ts';
import { encryptUnder } from './passphrase.ts';

/** All that is exported and imported. */
export interface ConfigurationParts {
  readonly settings: SettingStore;
  readonly storages: StorageStore;
  readonly rules: RuleStore;
  readonly users: Users;
  readonly fs: FsClient;
  readonly clock: () => number;
}

interface Others {
  readonly users: Awaited<ReturnType<Users['list']>>;
  readonly drivers: ReadonlyMap<string, DriverForm> | undefined;
}

interface Exported {
  readonly parts: ConfigurationParts;
  readonly others: Others;
  readonly passphrase: string;
  readonly login: LoginOfNow;
}

/** In bytes. A message between services may have 64 MiB, and texts of rules have no bound. */
const PIECE_BYTES = 1024 * 1024;

/** @param reading the turn of those that hold all storages or rules: it is not waited in for other services */
export const exportConfiguration = (parts: ConfigurationParts, reading: OneByOne) =>
  async function* ({ passphrase }: ExportConfigurationRequest, call: Call, login: LoginOfNow): AsyncGenerator<ExportConfigurationResponse> {
    const others = await askOthers(parts, call);
    yield* reading.stream(piecesOf)({ parts, others, passphrase, login }, call);
  };

async function* piecesOf({ parts, others, passphrase, login }: Exported, { signal }: Call): AsyncGenerator<ExportConfigurationResponse> {
  await login();
  const state = await readState(parts, others);
  const pace = createPace(signal);
  const encrypted = passphrase === '' ? undefined : await encryptUnder(passphrase, JSON.stringify(await secretsOf(state, pace)));
  for await (const text of documentPieces(state, new Date(parts.clock()), encrypted, pace)) {
    const piece = Buffer.from(text);
    for (let at = 0; at < piece.length; at += PIECE_BYTES) yield { document: piece.subarray(at, at + PIECE_BYTES) };
  }
}

/** What other services say. @returns no drivers while fs is away */
export async function askOthers({ users, fs }: ConfigurationParts, call: Call): Promise<Others> {
  const [known, drivers] = await Promise.all([users.list(call), fs.drivers()]);
  return { users: known, drivers };
}

/** The present configuration. While fs is away it is not known which items of a storage are secret, so all items count as secret. */
export async function readState(
  parts: Pick<ConfigurationParts, 'settings' | 'storages' | 'rules'>,
  { users, drivers }: Others,
): Promise<ConfigurationState & Pick<Others, 'drivers'>> {
  const [settings, storages, rules] = await Promise.all([parts.settings.read(), parts.storages.list(), parts.rules.list()]);
  return { settings, users, storages, rules, drivers, secretItemsOf: (driver) => drivers?.get(driver)?.secretItems };
}
