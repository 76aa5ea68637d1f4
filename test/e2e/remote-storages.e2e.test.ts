import { readdir } from 'node:fs/promises';
import { at, startStandalone, waitFor } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { startServers } from './support/every-storage.ts';
import { fetchFile, namesIn, rawPath } from './support/files.ts';
import { leaveDownload, leaveUpload, openDownload } from './support/left-transfers.ts';
import { mountFtp, mountRemotes, mountSmb, mountWebdav } from './support/remote-storages.ts';
import { carry, carryThroughFaults, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { waitForNone } from './support/wait-for-none.ts';
import { openWorld } from './support/world.ts';

/** More of them, and of what is cancelled, is for a long run: `WHARF_E2E_FILES=500 WHARF_E2E_CANCELLED=1000`. */
const FILES = Number(process.env.WHARF_E2E_FILES ?? 40);
/** What a driver keeps to be used again: by HTTP for four seconds, SFTP and FTP for a minute, rclone as many as were in use: names 16, reads 32, writes 16. */
const KEPT_CONNECTIONS = { s3: 0, sftp: 4, ftp: 25, webdav: 0, smb: 64 };
/** Transfers that are cancelled in each direction. */
const CANCELLED = Number(process.env.WHARF_E2E_CANCELLED ?? 40);
/** After very many all are idle at once: FTP sessions wait a minute for the next call, those of rclone some five. */
const REST_MS = CANCELLED > 100 ? 400_000 : 20_000;
/** Sent of an upload that is cancelled: more than a part of S3 has; where nothing is in parts less will do. */
const LEFT_BYTES = { s3: 12 * 1024 * 1024, sftp: 12 * 1024 * 1024, ftp: 1024 * 1024, webdav: 1024 * 1024, smb: 1024 * 1024 };
/** What a call and its answer have at most, with those before it for the same file. */
const CALL_BYTES = 20_000;
/** Those that are made to stand still, with the downloads that each takes at once; the others of 64 wait for their turn. */
const BORNE = { s3: 64, sftp: 64, ftp: 8, webdav: 32 };
const STALLED = ['s3', 'sftp', 'ftp', 'webdav'] as const;
/** So late a store may begin an upload in parts whose answer was lost: until then there is a note of it. */
const LATE_BEGIN_MS = 150_000;
/** Ceph collects what was given up later, so that the parts of a thousand uploads want room at once. */
const servers = await startServers(CANCELLED > 100 ? { sizeBytes: 24 * 1024 ** 3, isOnDisk: true } : {});

describe.runIf(servers !== undefined)('storages on other servers', async () => {
  if (servers === undefined) return;
  const { rgw, sshd, ftpd, apache, samba } = servers;
  const world = await openWorld(startStandalone);
  const bucketAndShell = await mountRemotes(world, rgw, sshd);
  const remotes = {
    ...bucketAndShell,
    ...{ ftp: await mountFtp(world, ftpd), webdav: await mountWebdav(world, apache), smb: await mountSmb(world, samba) },
  };
  const { path: local } = await world.folder('pairs');
  afterAll(async () => {
    await world.close();
    await remotes.stop();
    for (const { proxy } of [remotes.ftp, remotes.webdav, remotes.smb]) await proxy.stop();
    for (const server of [rgw, sshd, ftpd, apache, samba]) await server.stop();
  });
  /** Of files that are not whole, on the servers that have folders. */
  const temporaryNames = async () => {
    const folders = [sshd.folder, ftpd.folder, apache.folder, samba.folder];
    const names = (await Promise.all(folders.map((folder) => readdir(folder, { recursive: true })))).flat();
    return names.filter((name) => name.includes('.wharf-tmp'));
  };
  const places = { S3: remotes.s3, SFTP: remotes.sftp };

  await plantTree(world, `${local}/origin/tree`, FILES);
  const planted = await treeOf(world, `${local}/origin/tree`);

  test('the tree is what was planted', () => {
    expect(planted).toHaveLength(FILES + 1);
  });

  test.each(['S3', 'SFTP'] as const)('within %s a folder is copied, renamed and moved whole', async (kind) => {
    const { mount: place, proxy } = places[kind];
    /** Bytes that pass between fs and the server meanwhile. */
    const passedIn = async (work: () => Promise<unknown>) => {
      const passed = () => proxy.bytesToServer() + proxy.bytesToClient();
      const before = passed();
      await work();
      return passed() - before;
    };
    const undoneMoves = async () => (await world.admin.get('/api/task/move/undone')).data as readonly unknown[];
    await carry(world, 'copy', `${local}/origin`, 'tree', `${place}/within`);
    const inCopy = await passedIn(() => carry(world, 'copy', `${place}/within`, 'tree', `${place}/within/second`));
    expect(await treeOf(world, `${place}/within/second/tree`)).toEqual(planted);
    const inRename = await passedIn(async () => {
      await world.admin.call('/api/fs/rename', { path: `${place}/within/tree`, name: 'renamed' });
      // A big folder gets its new name by a task, where the storage cannot rename it in one step.
      await waitFor('the move to end', async () => (await undoneMoves()).length === 0, { withinMs: 60_000 });
    });
    expect(await treeOf(world, `${place}/within/renamed`)).toEqual(planted);
    const inMove = await passedIn(() => carry(world, 'move', `${place}/within`, 'renamed', `${place}/elsewhere`));
    expect(await treeOf(world, `${place}/elsewhere/renamed`)).toEqual(planted);
    // Calls and their answers pass, and nothing of the files: SFTP alone has no copy of its own.
    if (kind === 'S3') expect(inCopy).toBeLessThan(CALL_BYTES * FILES);
    expect(inRename).toBeLessThan(CALL_BYTES * FILES);
    expect(inMove).toBeLessThan(CALL_BYTES * FILES);
    for (const name of ['within', 'elsewhere']) await clear(world, place, name);
    expect(await treeOf(world, place)).toEqual(['/']);
  });

  test.each(['s3', 'sftp', 'ftp'] as const)('%s: a move whose connections break in the middle loses nothing', async (kind) => {
    const { mount, proxy } = remotes[kind];
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

  test.each(['s3', 'sftp', 'ftp', 'webdav', 'smb'] as const)('%s: cancelled transfers leave nothing, and no connection', async (kind) => {
    const { mount, proxy } = remotes[kind];
    await carry(world, 'copy', `${local}/origin/tree/one`, 'file-9', `${mount}/big`);
    for (let done = 0; done < CANCELLED; done += 20) {
      await Promise.all(Array.from({ length: 20 }, () => leaveDownload(world, `${mount}/big/file-9`)));
      await Promise.all(Array.from({ length: 20 }, (_, index) => leaveUpload(world, `${mount}/big/cancelled-${index}`, LEFT_BYTES[kind])));
    }
    await waitFor('no more connections than wait to be used again', async () => (await proxy.connections()) <= KEPT_CONNECTIONS[kind], {
      withinMs: REST_MS,
    });
    expect(await namesIn(world.admin, `${mount}/big`)).toEqual(['file-9']);
    await waitForNone('the uploads in parts', async () => (await remotes.inBucket()).uploads, { withinMs: 20_000 });
    // A server may make a file when its writer has gone; it is removed then.
    const isClear = () =>
      clear(world, mount, 'big').then(
        () => true,
        () => false,
      );
    await waitFor('the folder to be empty of what was cancelled', isClear, { withinMs: 20_000 });
    await waitForNone('the temporary names', temporaryNames, { withinMs: 20_000 });
  });

  test('storages that stand still with 64 downloads each hold up no other, tell what is known of them, and end when they are left', async () => {
    const standing = await Promise.all(
      STALLED.map(async (kind) => {
        const { mount, proxy } = remotes[kind];
        await carry(world, 'copy', `${local}/origin/tree/one`, 'file-9', `${mount}/still`);
        const path = await rawPath(world.admin, `${mount}/still/file-9`);
        const downloads = Array.from({ length: 64 }, (_, index) => openDownload(world, path, `192.0.2.${index % 2}`));
        let begun = 0;
        for (const download of downloads) void download.begun.then(() => (begun += 1));
        await waitFor('as many as it bears to be under way', () => begun >= BORNE[kind], { withinMs: 60_000 });
        proxy.stall();
        return { kind, mount, proxy, downloads };
      }),
    );
    const list = (mount: string, refresh: boolean) => world.admin.call('/api/fs/list', { path: `${mount}/still`, refresh });
    // What is known of them is answered, and who wants it anew waits for the storage.
    for (const { mount } of standing) expect(at(await list(mount, false), 'total')).toBe(1);
    const anew = standing.map(({ mount }) => list(mount, true));
    for (let round = 0; round < 20; round += 1) {
      expect(await namesIn(world.admin, `${local}/origin/tree`)).not.toEqual([]);
      expect(await treeOf(world, `${local}/origin/tree/one/two`)).not.toEqual([]);
    }
    expect(await namesIn(world.admin, remotes.smb.mount)).toEqual(expect.any(Array));
    for (const { kind, proxy, downloads } of standing) {
      for (const download of downloads) download.leave();
      await waitFor('the connections to be left', async () => (await proxy.connections()) <= KEPT_CONNECTIONS[kind] + 1, {
        withinMs: 10_000,
      });
      await proxy.resume();
    }
    for (const listing of anew) expect(at(await listing, 'total')).toBe(1);
    for (const { mount } of standing) {
      expect((await fetchFile(world.admin, world.base, `${mount}/still/file-9`)).body.byteLength).toBe(20 * 1024 * 1024);
      await clear(world, mount, 'still');
    }
  });

  test(
    'nothing of ours is left in the bucket, nor in the folders of the other servers',
    async () => {
      const left = async () => {
        const { keys, uploads } = await remotes.inBucket();
        return [...keys.filter((key) => key.includes('/') && !key.endsWith('/.wharf')), ...uploads];
      };
      await waitForNone('what is in the bucket', left, { withinMs: LATE_BEGIN_MS });
      expect(await temporaryNames()).toEqual([]);
    },
    LATE_BEGIN_MS + 30_000,
  );
});
