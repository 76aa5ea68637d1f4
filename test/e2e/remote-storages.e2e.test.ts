import { readdir } from 'node:fs/promises';
import { isAvailable, isMissing, startCephRgw, startFtpServer, startSshServer, startStandalone, waitFor } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { fetchFile, namesIn } from './support/files.ts';
import { beginDownload, leaveDownload, leaveUpload } from './support/left-transfers.ts';
import { mountFtp, mountRemotes } from './support/remote-storages.ts';
import { carry, carryThroughFaults, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { openWorld } from './support/world.ts';

const rgw = await startCephRgw();
const sshd = await startSshServer();
const ftpd = await startFtpServer({ software: 'vsftpd', tls: 'explicit' });
const areThere = isAvailable('ceph-rgw', rgw) && isAvailable('sshd', sshd) && isAvailable('vsftpd', ftpd);
/** More of them, and of what is cancelled, is for a long run: `WHARF_E2E_FILES=500 WHARF_E2E_CANCELLED=1000`. */
const FILES = Number(process.env.WHARF_E2E_FILES ?? 40);
/** What a driver keeps to be used again: S3 for four seconds, SFTP for a minute. */
const KEPT_CONNECTIONS = { s3: 0, sftp: 4 };
/** Transfers that are cancelled in each direction. */
const CANCELLED = Number(process.env.WHARF_E2E_CANCELLED ?? 40);

describe.runIf(areThere)('storages on other servers', async () => {
  if (isMissing(rgw) || isMissing(sshd) || isMissing(ftpd)) return;
  const world = await openWorld(startStandalone);
  const remotes = await mountRemotes(world, rgw, sshd);
  const ftp = await mountFtp(world, ftpd);
  const { path: local } = await world.folder('pairs');
  afterAll(async () => {
    await world.close();
    await remotes.stop();
    await ftp.proxy.stop();
    await ftpd.stop();
    await rgw.stop();
    await sshd.stop();
  });
  const places = { S3: remotes.s3.mount, SFTP: remotes.sftp.mount };

  await plantTree(world, `${local}/origin/tree`, FILES);
  const planted = await treeOf(world, `${local}/origin/tree`);

  test('the tree is what was planted', () => {
    expect(planted).toHaveLength(FILES + 1);
  });

  test.each(['S3', 'SFTP'] as const)('within %s a folder is copied, renamed and moved whole', async (kind) => {
    const place = places[kind];
    await carry(world, 'copy', `${local}/origin`, 'tree', `${place}/within`);
    await carry(world, 'copy', `${place}/within`, 'tree', `${place}/within/second`);
    expect(await treeOf(world, `${place}/within/second/tree`)).toEqual(planted);
    await world.admin.call('/api/fs/rename', { path: `${place}/within/tree`, name: 'renamed' });
    expect(await treeOf(world, `${place}/within/renamed`)).toEqual(planted);
    await carry(world, 'move', `${place}/within`, 'renamed', `${place}/elsewhere`);
    expect(await treeOf(world, `${place}/elsewhere/renamed`)).toEqual(planted);
    for (const name of ['within', 'elsewhere']) await clear(world, place, name);
    expect(await treeOf(world, place)).toEqual(['/']);
  });

  test.each(['s3', 'sftp', 'ftp'] as const)('%s: a move whose connections break in the middle loses nothing', async (kind) => {
    const { mount, proxy } = { ...remotes, ftp }[kind];
    await carry(world, 'copy', `${local}/origin`, 'tree', `${local}/away`);
    await carryThroughFaults(world, 'move', { from: `${local}/away`, name: 'tree', to: `${mount}/through` }, async () => {
      proxy.breakAll();
      proxy.cutAfter(500, 5);
    });
    expect(await treeOf(world, `${mount}/through/tree`)).toEqual(planted);
    expect(await treeOf(world, `${local}/away`)).toEqual(['/']);
    proxy.cutAfter(2_000_000, 3);
    await carryThroughFaults(world, 'move', { from: `${mount}/through`, name: 'tree', to: `${local}/back` }, async () => proxy.breakAll());
    proxy.cutAfter(0, 0);
    expect(await treeOf(world, `${local}/back/tree`)).toEqual(planted);
    await clear(world, local, 'back');
    await clear(world, mount, 'through');
  });

  test.each(['s3', 'sftp'] as const)('%s: cancelled transfers leave nothing, and no connection', async (kind) => {
    const { mount, proxy } = remotes[kind];
    await world.admin.call('/api/fs/copy', { src_dir: `${local}/origin/tree/one`, dst_dir: `${mount}/big`, names: ['file-9'] });
    await waitFor('the file to be there', async () => (await namesIn(world.admin, `${mount}/big`)).length === 1, { withinMs: 60_000 });
    for (let done = 0; done < CANCELLED; done += 20) {
      await Promise.all(Array.from({ length: 20 }, () => leaveDownload(world, `${mount}/big/file-9`)));
      await Promise.all(Array.from({ length: 20 }, (_, index) => leaveUpload(world, `${mount}/big/cancelled-${index}`, 12 * 1024 * 1024)));
    }
    await waitFor('no more connections than wait to be used again', async () => (await proxy.connections()) <= KEPT_CONNECTIONS[kind], {
      withinMs: 20_000,
    });
    expect(await namesIn(world.admin, `${mount}/big`)).toEqual(['file-9']);
    expect((await remotes.inBucket()).uploads).toEqual([]);
    expect((await readdir(sshd.folder, { recursive: true })).filter((name) => name.includes('.wharf-tmp'))).toEqual([]);
    await clear(world, mount, 'big');
  });

  test('a storage that stands still with 64 downloads holds up no other, and ends when they are left', async () => {
    const { mount, proxy } = remotes.s3;
    await world.admin.call('/api/fs/copy', { src_dir: `${local}/origin/tree/one`, dst_dir: `${mount}/still`, names: ['file-9'] });
    await waitFor('the file to be there', async () => (await namesIn(world.admin, `${mount}/still`)).length === 1, { withinMs: 60_000 });
    const standing = await Promise.all(
      Array.from({ length: 64 }, (_, index) => beginDownload(world, `${mount}/still/file-9`, `192.0.2.${index % 2}`)),
    );
    proxy.stall();
    for (let round = 0; round < 20; round += 1) {
      expect(await namesIn(world.admin, `${local}/origin/tree`)).not.toEqual([]);
      expect(await treeOf(world, `${local}/origin/tree/one/two`)).not.toEqual([]);
    }
    expect(await namesIn(world.admin, remotes.sftp.mount)).toEqual([]);
    for (const download of standing) download.leave();
    await waitFor('the connections to be left', async () => (await proxy.connections()) <= KEPT_CONNECTIONS.s3, { withinMs: 10_000 });
    await proxy.resume();
    expect((await fetchFile(world.admin, world.base, `${mount}/still/file-9`)).body.byteLength).toBe(20 * 1024 * 1024);
    await clear(world, mount, 'still');
  });

  test('nothing of ours is left in the bucket', async () => {
    const { keys, uploads } = await remotes.inBucket();
    expect(keys.filter((key) => key.includes('/') && !key.endsWith('/.wharf'))).toEqual([]);
    expect(uploads).toEqual([]);
  });
});
