import { createHash } from 'node:crypto';
import { at, isAvailable, isMissing, startCephRgw, startSshServer, startStandalone, waitFor } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { fetchFile, namesIn, put } from './support/files.ts';
import { mountRemotes } from './support/remote-storages.ts';
import { startSourceServer } from './support/source-server.ts';
import { openWorld } from './support/world.ts';

const MIB = 1024 * 1024;
/** 1024 for a long run. */
const SIZE_MIB = Number(process.env.WHARF_E2E_DOWNLOAD_MIB ?? 64);
const WITHIN = { withinMs: 600_000 };
const CONNECTIONS = 4;
/** Of the file in a bucket. */
const PART_BYTES = (SIZE_MIB < 1024 ? 8 : 16) * MIB;
/** Of each connection: slow enough that what is on its way is little. */
const BYTES_PER_SECOND = Math.min(4 * MIB, (SIZE_MIB * MIB) / CONNECTIONS / 8);
/** How far a download has come is noted each second; that takes a moment. */
const NOTED_WITHIN_S = 2;

const rgw = await startCephRgw({ sizeBytes: Math.max(2, Math.ceil(SIZE_MIB / 256)) * 1024 * MIB });
const sshd = await startSshServer();
const areThere = isAvailable('ceph-rgw', rgw) && isAvailable('sshd', sshd);

describe.runIf(areThere)('downloads to storages on other servers', { timeout: 900_000 }, async () => {
  if (isMissing(rgw) || isMissing(sshd)) return;
  const source = await startSourceServer();
  // Nothing fits into the scratch folder: what goes by way of it never arrives.
  const world = await openWorld(startStandalone, {
    env: { WHARF_SCRATCH_MAX_BYTES: '1', WHARF_EGRESS_ALLOW: '127.0.0.1', WHARF_DOWNLOAD_CONNECTIONS: String(CONNECTIONS) },
  });
  const remotes = await mountRemotes(world, rgw, sshd);
  afterAll(async () => {
    await world.close();
    await remotes.stop();
    await source.close();
    await rgw.stop();
    await sshd.stop();
  });
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  /** Blocks that tell where they belong. */
  const content = Buffer.alloc(SIZE_MIB * MIB + 4_321);
  for (let block = 0; block * MIB < content.byteLength; block += 1) {
    content.fill(createHash('sha256').update(`block ${block}`).digest(), block * MIB, Math.min(content.byteLength, (block + 1) * MIB));
  }
  source.files.set('/big.bin', content);
  const queue = async (folder: string, more: object = {}) => {
    const answer = await world.admin.call('/api/fs/add_offline_download', {
      ...{ urls: [`${source.url}/big.bin`], path: folder, tool: 'SimpleHttp', delete_policy: 'delete_always' },
      ...more,
    });
    return String(at(answer, 'tasks', 0, 'id'));
  };
  const infoOf = async (id: string) => (await world.admin.post(`/api/task/offline_download/info?tid=${id}`)).data;
  const stateIs = (id: string, state: number) =>
    waitFor(
      `state ${state}`,
      async () => {
        const info = await infoOf(id);
        if (at(info, 'state') === 7) throw new Error(String(at(info, 'error')));
        return at(info, 'state') === state;
      },
      WITHIN,
    );
  const leftovers = async () => [
    ...(await remotes.inBucket()).uploads,
    ...(await remotes.inBucket()).keys.filter((key) => key.includes('draft-')),
  ];

  test.each(['s3', 'sftp'] as const)('%s: arrives without the scratch folder, also where its digest is given', async (kind) => {
    const folder = `${remotes[kind].mount}/in`;
    await stateIs(await queue(folder), 2);
    const { body } = await fetchFile(world.admin, world.base, `${folder}/big.bin`);
    expect(digest(body)).toBe(digest(content));
    await stateIs(await queue(folder, { hashes: { sha256: digest(content) } }), 2);
    expect((await namesIn(world.admin, folder)).sort()).toEqual(['big (1).bin', 'big.bin']);
    expect(await leftovers()).toEqual([]);
    await world.admin.call('/api/fs/remove', { dir: remotes[kind].mount, names: ['in'] });
  });

  test.each(['s3', 'sftp'] as const)('%s: goes on where it was when everything is killed, and what was there stays', async (kind) => {
    const folder = `${remotes[kind].mount}/killed`;
    await put(world.admin, world.base, `${folder}/big.bin`, 'old');
    source.bytesPerSecond = BYTES_PER_SECOND;
    const before = source.sentBytes();
    const id = await queue(folder);
    await waitFor('half of it', async () => Number(at(await infoOf(id), 'progress')) > 50, WITHIN);
    await world.wharf.kill();
    await world.wharf.restart();
    source.bytesPerSecond = 0;
    await stateIs(id, 2);
    const again = source.sentBytes() - before - content.byteLength;
    expect(again).toBeLessThan(CONNECTIONS * (PART_BYTES + NOTED_WITHIN_S * BYTES_PER_SECOND));
    expect((await fetchFile(world.admin, world.base, `${folder}/big.bin`)).body.toString()).toBe('old');
    expect(digest((await fetchFile(world.admin, world.base, `${folder}/big (1).bin`)).body)).toBe(digest(content));
    expect(await leftovers()).toEqual([]);
    await world.admin.call('/api/fs/remove', { dir: remotes[kind].mount, names: ['killed'] });
  });

  test('s3: ends when it is cancelled, and leaves nothing in the bucket', async () => {
    source.bytesPerSecond = BYTES_PER_SECOND;
    const id = await queue(`${remotes.s3.mount}/cancelled`);
    await waitFor('the first part', async () => (await leftovers()).length > 0 && Number(at(await infoOf(id), 'progress')) > 20, WITHIN);
    await world.admin.call(`/api/task/offline_download/cancel?tid=${id}`, {});
    await stateIs(id, 4);
    await waitFor('the bucket to be clean', async () => (await leftovers()).length === 0, WITHIN);
  });
});
