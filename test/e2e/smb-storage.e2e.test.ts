import { readdir } from 'node:fs/promises';
import { ensureCommand, isAvailable, isMissing, startSamba, startStandalone } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { requireAbsent } from './support/secrets.ts';
import { carry, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { openWorld } from './support/world.ts';

const rclone = await ensureCommand('rclone', 'rclone');
const samba = await startSamba();
/** More of them is for a long run: `WHARF_E2E_FILES=500`. */
const FILES = Number(process.env.WHARF_E2E_FILES ?? 40);

describe.runIf(isAvailable('rclone', rclone) && isAvailable('samba', samba))('an SMB storage', async () => {
  if (isMissing(samba)) return;
  const world = await openWorld(startStandalone, { env: { WHARF_LOG_LEVEL: 'debug' } });
  const { path: local } = await world.folder('smb');
  const { host, port, username, password, share } = samba;
  const addition = JSON.stringify({ root_folder_path: '.', address: `${host}:${port}`, username, password, share_name: share });
  const nas = '/smb-nas';
  afterAll(async () => {
    await world.close();
    await samba.stop();
  });

  test('is tried before it is saved, and says what is wrong with it', async () => {
    const tried = { mount_path: nas, driver: 'SMB', addition };
    const answered = await world.admin.call('/api/admin/storage/test', tried);
    expect(JSON.stringify(answered)).not.toContain(password);
    const wrong = { ...tried, addition: addition.replace(password, 'another') };
    const answer = JSON.stringify(await world.admin.call('/api/admin/storage/test', wrong).catch((error: unknown) => String(error)));
    expect(answer).toContain('does not let this username in');
    await world.admin.call('/api/admin/storage/create', tried);
  });

  test('trees are copied and moved there, within it and back, with every byte, and nothing is left behind', async () => {
    await plantTree(world, `${local}/origin/tree`, FILES);
    const planted = await treeOf(world, `${local}/origin/tree`);
    expect(planted).toHaveLength(FILES + 1);
    await carry(world, 'copy', `${local}/origin`, 'tree', `${nas}/first`);
    expect(await treeOf(world, `${nas}/first/tree`)).toEqual(planted);
    await carry(world, 'copy', `${nas}/first`, 'tree', `${nas}/second`);
    await carry(world, 'move', `${nas}/second`, 'tree', `${nas}/third`);
    expect(await treeOf(world, `${nas}/third/tree`)).toEqual(planted);
    await carry(world, 'move', `${nas}/third`, 'tree', `${local}/back`);
    expect(await treeOf(world, `${local}/back/tree`)).toEqual(planted);
    for (const name of ['first', 'second', 'third']) await clear(world, nas, name);
    expect(await readdir(samba.folder)).toEqual([]);
  });

  test('its password is in no log, and nowhere in the data folder in the clear (C21)', async () => {
    expect(world.wharf.log()).not.toContain(password);
    await requireAbsent(world.wharf.dataDir, password);
    // Its form in text of JSON is looked for too.
    const inJson = JSON.stringify(password).slice(1, -1);
    expect(world.wharf.log()).not.toContain(inJson);
    await requireAbsent(world.wharf.dataDir, inJson);
  });
});
