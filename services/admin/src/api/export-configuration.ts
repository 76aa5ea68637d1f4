import type { ExportConfigurationRequest, ExportConfigurationResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import type { FsClient } from '../clients/fs.ts';
import type { Users } from '../clients/users.ts';
import type { DriverForm } from '../domain/driver-form.ts';
import { type ConfigurationState, documentText, splitConfiguration } from '../domain/export-document.ts';
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

/** In bytes. A message between services may have 64 MiB, and texts of rules have no bound. */
const PIECE_BYTES = 1024 * 1024;

export const exportConfiguration = (parts: ConfigurationParts) =>
  async function* ({ passphrase }: ExportConfigurationRequest, call: Call): AsyncGenerator<ExportConfigurationResponse> {
    const { open, secrets } = splitConfiguration(await readState(parts, call));
    const encrypted = passphrase === '' ? undefined : await encryptUnder(passphrase, JSON.stringify(secrets));
    const document = Buffer.from(documentText(open, new Date(parts.clock()), encrypted));
    for (let at = 0; at < document.length; at += PIECE_BYTES) yield { document: document.subarray(at, at + PIECE_BYTES) };
  };

/** The present configuration. While fs is away it is not known which items of a storage are secret, so all items count as secret. */
export async function readState(
  parts: ConfigurationParts,
  call: Call,
): Promise<ConfigurationState & { drivers: ReadonlyMap<string, DriverForm> | undefined }> {
  const [settings, users, storages, rules, drivers] = await Promise.all([
    parts.settings.read(),
    parts.users.list(call),
    parts.storages.list(),
    parts.rules.list(),
    parts.fs.drivers(),
  ]);
  return { settings, users, storages, rules, drivers, secretItemsOf: (driver) => drivers?.get(driver)?.secretItems };
}
