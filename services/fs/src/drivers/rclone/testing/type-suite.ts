import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { ensureCommand, isAvailable, startFaultProxy } from '@wharf/harness';
import { describe } from 'vitest';
import type { FaultyWay, StorageUnderTest } from '../../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../../driver-contract/conformance/rule-end.suite.ts';
import { type DriverUnderTest, describeDriver } from '../../../driver-contract/conformance.suite.ts';
import { decorate } from '../../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { rcloneDriver } from '../index.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

export const WITHOUT: readonly OptionalOperation[] = [
  'beginRemoval',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'readMany',
  'statMany',
  'thumbnail',
  'writeMany',
];
/** `npm run soak -- suites`: every rule for every type, as it is and with all that is put around it. */
const IS_LONG = process.env['WHARF_LONG_SUITES'] !== undefined;
/** Where the whole suite runs on one type already: what differs by the server. */
export const SOME = IS_LONG ? {} : { groups: ['entries', 'long listings', 'content', 'cancellation and failure', 'abilities'] };
/** Listings of 10,000 take a minute to make there. */
export const FEW = IS_LONG
  ? {}
  : { groups: ['entries', 'content', 'names', 'making and removing', 'copy', 'cancellation and failure', 'two at once', 'abilities'] };
/** One for each transfer; rclone keeps them for a minute. */
const KEEPS = 16;
export const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

/** Where there is rclone. */
export async function describeRclone(run: () => Promise<void>): Promise<void> {
  const program = await ensureCommand('rclone', 'rclone');
  describe.runIf(isAvailable('rclone', program))('Rclone', run);
}

/** What a run is called in docs/drivers.md. */
export function documentedAs(server: string) {
  return { driver: 'Rclone', server };
}

export function decorated(driver: StorageDriver): StorageDriver {
  return decorate(driver, rcloneDriver.limits);
}

/** As it is, and in the long run with all that is put around it too. */
export function describeType({ documented, ...rest }: DriverUnderTest): void {
  const { name, open, openStanding } = rest;
  describeDriver({ ...rest, ...(documented && { documented }) });
  if (!IS_LONG) return;
  const openAround = (opening: () => Promise<StorageUnderTest>) => async (): Promise<StorageUnderTest> => {
    const side = await opening();
    const faulty = side.throughFaults;
    const throughFaults = faulty && (async () => faulty().then(({ driver, ...way }) => ({ ...way, driver: decorated(driver) })));
    return { ...side, driver: decorated(side.driver), ...(throughFaults && { throughFaults }) };
  };
  describeDriver({
    ...rest,
    name: `${name} with everything around it`,
    open: openAround(open),
    ...(openStanding && { openStanding: openAround(openStanding) }),
  });
}

export function opened(
  type: string,
  options: Record<string, string>,
  secrets: Record<string, string>,
  root: string,
): Promise<StorageDriver> {
  const items = { type, options: JSON.stringify(options), secrets: JSON.stringify(secrets), root_folder_path: root };
  return rcloneDriver.open(JSON.stringify(items), { egress });
}

/** A folder of a server's own, for one rule. */
export async function madeFolder(parent: string, owner = 33): Promise<string> {
  const folder = await mkdtemp(path.join(parent, 'storage ä+'));
  await chown(folder, owner, owner);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function faulty({ host, port }: Address, openAt: (at: Address) => Promise<StorageDriver>): Promise<FaultyWay> {
  const way = await startFaultProxy({ to: { host, port } });
  return { driver: await openAt(way), way, keeps: KEEPS };
}
