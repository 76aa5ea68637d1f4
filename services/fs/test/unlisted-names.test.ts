import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { bytesBelow } from '../src/domain/changing/operations/claim-room.ts';
import { placeEntries } from '../src/domain/changing/operations/place-entries.ts';
import { removeEntries } from '../src/domain/changing/operations/remove-entries.ts';
import { actor, bytesOf, mpath, openTree, vpath } from '../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { cryptDriver } from '../src/drivers/crypt/index.ts';
import { localDriver } from '../src/drivers/local/index.ts';

const RULES = [{ path: '/x/closed', hide: '^\\.kept$', h_sub: true }];
const DENIED = ['PERMISSION_DENIED', 'permission denied'];

/** Storages that leave names with a dot out of listings, with a file of such a name in a folder where a rule hides it, at `/x`. */
const WAYS = {
  async Local() {
    const dir = await makeTempDir('unlisted');
    onTestFinished(dir.remove);
    await mkdir(join(dir.path, 'closed/in'), { recursive: true });
    await writeFile(join(dir.path, 'closed/in/.kept'), 'kept');
    const addition = JSON.stringify({ root_folder_path: dir.path, show_hidden: false });
    return openTree({ drivers: [localDriver], storages: [{ mount_path: '/x', driver: 'Local', addition }], rules: RULES });
  },
  async Crypt() {
    const items = {
      remote_path: '/below',
      password: 'a password',
      encrypted_suffix: '.bin',
      filename_encryption: 'off',
      directory_name_encryption: 'false',
      filename_encoding: 'base64',
    };
    const addition = JSON.stringify({ ...items, show_hidden: false });
    const storages = [{ mount_path: '/below' }, { mount_path: '/x', driver: 'Crypt', addition }];
    const tree = await openTree({ drivers: [cryptDriver], storages, rules: RULES });
    const driver = await tree.snapshot.table.locate(vpath('/x'))?.mount.driver();
    await driver?.write?.(mpath('/closed/in/.kept'), bytesOf('kept'), { overwrite: false });
    return tree;
  },
} as const;

it.each(Object.entries(WAYS))(
  'what the settings of a storage leave out of listings is hidden by rules, and counts in quotas: %s',
  async (_kind, open) => {
    const tree = await open();
    const operation = tree.operation(actor({ permission: 0xffff & ~1 }));
    expect(await tree.everything('/x')).toEqual(['/x/closed/in/']);
    const request = { src_dir: '/x', dst_dir: '/x/other', names: ['closed'], overwrite: false, skip_existing: false };
    const queue = async () => {};
    for (const verb of ['copy', 'move'] as const) expect(await refusalOf(placeEntries(operation, request, verb, queue))).toEqual(DENIED);
    expect(await refusalOf(placeEntries(operation, { ...request, src_dir: '/x/closed', names: ['in'] }, 'copy', queue))).toEqual(DENIED);
    expect(await refusalOf(removeEntries(operation, { dir: '/x/closed', names: ['in'] }))).toEqual(DENIED);
    expect(await tree.textOf('/x/closed/in/.kept')).toBe('kept');
    const root = { path: vpath('/x'), located: tree.snapshot.table.locate(vpath('/x')) };
    expect(await bytesBelow(operation, root)).toBe('kept'.length);
  },
);
