import { at, ensureCommand, isAvailable, isMissing, startApacheDav, startStandalone } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { dataOf } from './support/people.ts';
import { requireAbsent } from './support/secrets.ts';
import { carry, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { openWorld } from './support/world.ts';

const rclone = await ensureCommand('rclone', 'rclone');
const dav = await startApacheDav();
/** More of them is for a long run: `WHARF_E2E_FILES=500`. */
const FILES = Number(process.env.WHARF_E2E_FILES ?? 20);

describe.runIf(isAvailable('rclone', rclone) && isAvailable('webdav', dav))('a storage by rclone', async () => {
  if (isMissing(dav)) return;
  const world = await openWorld(startStandalone, { env: { WHARF_LOG_LEVEL: 'debug' } });
  const { path: local } = await world.folder('rclone');
  const addition = JSON.stringify({
    type: 'webdav',
    options: `url = ${dav.url}\nvendor = owncloud\nuser = ${dav.username}`,
    secrets: `pass = ${dav.password}`,
    root_folder_path: '/',
  });
  const far = '/by-rclone';
  afterAll(async () => {
    await world.close();
    await dav.stop();
  });

  test('is tried before it is saved, tells no secret, and takes no option that is not allowed', async () => {
    const tried = { mount_path: far, driver: 'Rclone', addition };
    const secret = JSON.stringify(dav.password).slice(1, -1);
    expect(JSON.stringify(await world.admin.call('/api/admin/storage/test', tried))).not.toContain(secret);
    const hostile = { ...tried, addition: addition.replace('vendor = owncloud', 'bearer_token_command = id') };
    const answer = JSON.stringify(await world.admin.call('/api/admin/storage/test', hostile).catch((error: unknown) => String(error)));
    expect(answer).toContain('bearer_token_command');
    expect(answer).toContain('cannot be used');
    await world.admin.call('/api/admin/storage/create', tried);
  });

  test('is described as rclone does it: types, and options of the chosen one with those that may be given alone', async () => {
    expect(at(await dataOf(world.admin, '/api/admin/driver/info?driver=Rclone'), 'options_by')).toEqual([
      'type',
      'rcd_url',
      'rcd_username',
      'rcd_password',
    ]);
    const options = (await world.admin.call('/api/admin/driver/options', { driver: 'Rclone', addition })) as Record<string, unknown>[];
    expect(options.map(({ name }) => name)).toEqual(['type', 'url', 'vendor', 'user', 'pass', 'bearer_token']);
    expect(options[0]).toMatchObject({
      choices: expect.arrayContaining([{ value: 'webdav', help: 'WebDAV' }]),
      exclusive: true,
      shapes: true,
    });
    expect(options[4]).toMatchObject({ item: 'secrets', type: 'string', secret: true, advanced: false, help: 'Password.' });
    expect(JSON.stringify(options)).not.toContain(JSON.stringify(dav.password).slice(1, -1));
    expect(await world.admin.post('/api/admin/driver/options', { driver: 'Rclone', addition: '{"type":"local"}' })).toMatchObject({
      code: 400,
    });
  });

  test('trees are copied and moved there, within it and back, with every byte', async () => {
    await plantTree(world, `${local}/origin/tree`, FILES);
    const planted = await treeOf(world, `${local}/origin/tree`);
    await carry(world, 'copy', `${local}/origin`, 'tree', `${far}/first`);
    expect(await treeOf(world, `${far}/first/tree`)).toEqual(planted);
    await carry(world, 'move', `${far}/first`, 'tree', `${far}/second`);
    await carry(world, 'move', `${far}/second`, 'tree', `${local}/back`);
    expect(await treeOf(world, `${local}/back/tree`)).toEqual(planted);
    for (const name of ['first', 'second']) await clear(world, far, name);
  });

  test('its password is in no log, and nowhere in the data folder in the clear (C21)', async () => {
    expect(world.wharf.log()).not.toContain(dav.password);
    await requireAbsent(world.wharf.dataDir, dav.password);
    // Its form in text of JSON is looked for too.
    const inJson = JSON.stringify(dav.password).slice(1, -1);
    expect(world.wharf.log()).not.toContain(inJson);
    await requireAbsent(world.wharf.dataDir, inJson);
  });
});
