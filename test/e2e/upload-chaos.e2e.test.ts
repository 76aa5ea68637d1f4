import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CephRgw,
  isAvailable,
  isMissing,
  login,
  makeTempDir,
  type SshServer,
  startCephRgw,
  startSshServer,
  startStandalone,
  waitFor,
} from '@wharf/harness';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { mountRemotes } from './support/remote-storages.ts';
import { startReplicas } from './support/replicas.ts';
import { CLIENT_FAULTS, makeUploadSource, runUploadChaos, type UploadReport, type UploadSubject } from './support/upload-chaos.ts';
import { openWorld } from './support/world.ts';

const MIB = 1024 * 1024;
/** The whole of it: `npm run soak -- uploads`. */
const SIZE_BYTES = 40 * MIB + 7;
const LIMIT_MS = 600_000;
const nothing = async () => {};

const rgw = await startCephRgw();
const sshd = await startSshServer();
const areThere = isAvailable('ceph-rgw', rgw) && isAvailable('sshd', sshd);
/** What a test started ends with it, the last first. */
const ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end();
});
afterAll(async () => {
  if (!isMissing(rgw)) await rgw.stop();
  if (!isMissing(sshd)) await sshd.stop();
});

const dir = await makeTempDir('upload-chaos');
afterAll(() => dir.remove());
const run = async (subject: UploadSubject) =>
  runUploadChaos(subject, {
    source: await makeUploadSource(dir.path, SIZE_BYTES),
    ways: ['tus', 'parts'],
    breakEveryMs: 0,
    tell: console.log,
  });
const expectWhole = (reports: readonly UploadReport[]) => {
  console.log(reports.map(({ name, sentBytes }) => `${name}: ${(sentBytes / SIZE_BYTES).toFixed(2)} of the file`).join('\n'));
  expect(reports).toHaveLength(6);
  expect(reports.filter(({ isIdentical }) => !isIdentical)).toEqual([]);
  expect(reports.filter(({ sentBytes, allowedBytes }) => sentBytes > allowedBytes)).toEqual([]);
};
/** What drivers keep of unfinished files. */
const debrisIn = async (folder: string) => (await readdir(folder, { recursive: true })).filter((name) => name.includes('draft-'));

describe.runIf(areThere)('uploads by tus-js-client and by the family’s calls, to a folder, a bucket and an SSH server at once', () => {
  if (isMissing(rgw) || isMissing(sshd)) return;
  test('arrive byte by byte through kill -9 of the one process, of the clients and broken connections', { timeout: LIMIT_MS }, async () => {
    const world = await openWorld(startStandalone, { env: { WHARF_DRAIN_SECONDS: '0' } });
    const remotes = await mountRemotes(world, rgw, sshd);
    ending.push(() => world.close(), remotes.stop);
    const { path, disk } = await world.folder('chaos');
    const crash = async () => {
      await world.wharf.kill();
      await world.wharf.restart();
    };
    expectWhole(
      await run({
        gateways: [world.base],
        admin: world.admin,
        places: { Local: path, S3: `${remotes.s3.mount}/one`, SFTP: `${remotes.sftp.mount}/one` },
        faults: [
          [CLIENT_FAULTS.lines, nothing],
          ['kill -9', crash],
          [CLIENT_FAULTS.clients, nothing],
          ['kill -9 again', crash],
          [CLIENT_FAULTS.lines, nothing],
        ],
      }),
    );
    expect((await world.admin.get('/api/admin/upload/list')).data).toMatchObject({ content: [], total: 0 });
    expect([...(await debrisIn(disk)), ...(await debrisIn(sshd.folder))]).toEqual([]);
    await waitFor('the bucket to be clean', async () => (await remotes.inBucket()).uploads.length === 0, { withinMs: 60_000 });
  });

  test('arrive byte by byte through two gateways and two fs of which each is killed, and a store that is', {
    timeout: LIMIT_MS,
  }, async () => {
    const replicas = await startReplicas();
    ending.push(replicas.stop);
    const admin = await login(replicas.first, 'admin', replicas.adminPassword);
    const folder = join(replicas.folder, 'shared');
    await mkdir(folder);
    await admin.call('/api/admin/storage/create', {
      ...{ mount_path: '/shared', driver: 'Local' },
      addition: JSON.stringify({ root_folder_path: folder, mkdir_perm: '777' }),
    });
    let made = 0;
    const remotes = await mountRemotes(
      { admin, unique: (purpose) => `${purpose}-of-replicas-${++made}` },
      rgw as CephRgw,
      sshd as SshServer,
    );
    ending.push(remotes.stop);
    const before = await debrisIn(sshd.folder);
    expectWhole(
      await run({
        gateways: [replicas.first, replicas.second],
        admin,
        places: { Local: '/shared', S3: `${remotes.s3.mount}/two`, SFTP: `${remotes.sftp.mount}/two` },
        faults: [
          [CLIENT_FAULTS.lines, nothing],
          ['kill -9 of a gateway', () => replicas.restart('api-gateway', 0)],
          ['kill -9 of an fs', () => replicas.restart('fs', 1)],
          ['kill -9 of the store', () => replicas.restartStore()],
          [CLIENT_FAULTS.clients, nothing],
          ['kill -9 of the other fs', () => replicas.restart('fs', 0)],
          [CLIENT_FAULTS.lines, nothing],
        ],
      }),
    );
    expect((await admin.get('/api/admin/upload/list')).data).toMatchObject({ content: [], total: 0 });
    expect([...before, ...(await debrisIn(folder)), ...(await debrisIn(sshd.folder))]).toEqual([]);
    await waitFor('the bucket to be clean', async () => (await remotes.inBucket()).uploads.length === 0, { withinMs: 60_000 });
  });
});
