import { readdir } from 'node:fs/promises';
import { at, isAvailable, isMissing, startCephRgw, startSshServer, startStandalone, startStoreProcess, waitFor } from '@wharf/harness';
import { afterAll, expect, test } from 'vitest';
import { expireUploads } from './support/expire-uploads.ts';
import { inParallel } from './support/in-parallel.ts';
import { beginParts, sendPartOf } from './support/part-uploads.ts';
import { ALL_WRITES, makePerson } from './support/people.ts';
import { mountRemotes } from './support/remote-storages.ts';
import { openWorld } from './support/world.ts';

const MIB = 1024 * 1024;
/** Of one user; the whole of it: 1000. */
const UNFINISHED = Number(process.env['WHARF_E2E_UNFINISHED'] ?? 30);
const AT_ONCE = 4;
const LIMIT_MS = 600_000;
const WITHIN_MS = 300_000;

const rgw = await startCephRgw();
const sshd = await startSshServer();
const store = await startStoreProcess();
const world = await openWorld(startStandalone, {
  env: { MONGO_URL: store.url, WHARF_UPLOADS_PER_USER: String(UNFINISHED), WHARF_UPLOADS_OF_ALL: String(UNFINISHED + 1) },
});
afterAll(async () => {
  await world.close();
  await store.stop();
  if (!isMissing(sshd)) await sshd.stop();
  if (!isMissing(rgw)) await rgw.stop();
});

test.runIf(isAvailable('ceph-rgw', rgw) && isAvailable('sshd', sshd))(
  `${UNFINISHED} unfinished uploads of one user are all there may be, and nothing of them is left on any storage when their time passed while fs was away`,
  { timeout: LIMIT_MS },
  async () => {
    if (isMissing(rgw) || isMissing(sshd)) return;
    const remotes = await mountRemotes(world, rgw, sshd);
    try {
      const { path, disk } = await world.folder('unfinished');
      const places = [path, `${remotes.s3.mount}/unfinished`, `${remotes.sftp.mount}/unfinished`];
      const begin = (place: string | undefined, name: string, caller = world.admin) =>
        beginParts(caller, world.base, `${place}/${name}`, MIB + 1, MIB);
      const numbers = Array.from({ length: UNFINISHED }, (_, number) => number);
      await inParallel(AT_ONCE, numbers, async (number) => {
        const upload = await begin(places[number % places.length], `${number}.bin`);
        expect(await sendPartOf(world.admin, world.base, upload, upload.total - 1, lastPart(upload))).toMatchObject({ code: 200 });
      });
      const total = async () => at((await world.admin.get('/api/admin/upload/list')).data, 'total');
      expect(await total()).toBe(UNFINISHED);
      for (const place of places) await expect(begin(place, 'too-many.bin')).rejects.toThrow(`you have ${UNFINISHED} unfinished uploads`);
      const person = await makePerson(world, { permission: ALL_WRITES });
      await begin(path, 'another.bin', person);
      await expect(begin(path, 'too-many.bin', person)).rejects.toThrow('too many unfinished uploads');

      await world.wharf.kill();
      await expireUploads(store.url);
      await world.wharf.restart();
      await waitFor('all to be swept', async () => (await total()) === 0, { withinMs: WITHIN_MS });
      const drafts = async (folder: string) => (await readdir(folder, { recursive: true })).filter((name) => name.includes('draft-'));
      expect([...(await drafts(disk)), ...(await drafts(world.wharf.filesDir)), ...(await drafts(sshd.folder))]).toEqual([]);
      const { keys, uploads } = await remotes.inBucket();
      // Folders stay, as on every storage; this is how a bucket has one that is empty.
      expect([...keys, ...uploads].filter((key) => !/(^|\/)\.wharf$/.test(key))).toEqual([]);
      await begin(path, 'room.bin');
    } finally {
      await remotes.stop();
    }
  },
);

function lastPart({ chunkBytes, total }: { chunkBytes: number; total: number }): Buffer {
  return Buffer.alloc(MIB + 1 - (total - 1) * chunkBytes, 'w');
}
