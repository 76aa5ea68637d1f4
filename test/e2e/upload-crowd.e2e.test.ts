import { setTimeout as delay } from 'node:timers/promises';
import {
  describeContent,
  download,
  generateContent,
  isAvailable,
  isMissing,
  startCephRgw,
  startSshServer,
  startStandalone,
} from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { type Answer, rawPath } from './support/files.ts';
import { beginParts, completeParts, sendPart } from './support/part-uploads.ts';
import { ALL_WRITES, makePerson, type Person, userFields } from './support/people.ts';
import { mountRemotes } from './support/remote-storages.ts';
import { openWorld } from './support/world.ts';

const MIB = 1024 * 1024;
/** The whole of it: `npm run soak -- crowd`, 20 users with 10 uploads of 20 MiB each. */
const [USERS = 4, UPLOADS = 3, SIZE_MIB = 4] = (process.env['WHARF_E2E_UPLOADS'] ?? '').split(',').filter(Boolean).map(Number);
const SIZE_BYTES = SIZE_MIB * MIB + 7;
const CONTENT = Buffer.concat([...generateContent('crowd', SIZE_BYTES)]);
const LIMIT_MS = 1_800_000;
/** Of one part that is put off again and again. */
const PATIENCE_MS = 300_000;
const RETRY_MS = 500;

const rgw = await startCephRgw({
  sizeBytes: 2 * 1024 * MIB + 2 * USERS * UPLOADS * SIZE_BYTES,
  isOnDisk: USERS * UPLOADS * SIZE_MIB > 512,
});
const sshd = await startSshServer();
const areThere = isAvailable('ceph-rgw', rgw) && isAvailable('sshd', sshd);
const world = await openWorld(startStandalone);
const remotes = isMissing(rgw) || isMissing(sshd) ? undefined : await mountRemotes(world, rgw, sshd);
afterAll(async () => {
  await world.close();
  await remotes?.stop();
  if (!isMissing(sshd)) await sshd.stop();
  if (!isMissing(rgw)) await rgw.stop();
});

describe(`${USERS * UPLOADS} uploads in parts at once by ${USERS} users`, () => {
  test('to a folder of this machine all arrive, to the last byte of each quota', { timeout: LIMIT_MS }, async () => {
    const { path } = await world.folder('crowd');
    await crowdIn('Local', path);
  });

  test.runIf(areThere)('to a bucket all arrive, to the last byte of each quota', { timeout: LIMIT_MS }, () =>
    crowdIn('S3', `${remotes?.s3.mount}/crowd`),
  );

  test.runIf(areThere)('to an SSH server all arrive, to the last byte of each quota', { timeout: LIMIT_MS }, () =>
    crowdIn('SFTP', `${remotes?.sftp.mount}/crowd`),
  );
});

async function crowdIn(kind: string, path: string): Promise<void> {
  const people: Person[] = [];
  for (let index = 0; index < USERS; index += 1) people.push(await crowdMember(`${path}/${index}`, UPLOADS * SIZE_BYTES));
  await world.admin.call('/api/fs/mkdir', { path });
  const startedAt = performance.now();
  let isOver = false;
  const listing = (async () => {
    const tookMs: number[] = [];
    while (!isOver) {
      const askedAt = performance.now();
      await world.admin.call('/api/fs/list', { path, refresh: true });
      tookMs.push(performance.now() - askedAt);
    }
    return tookMs.toSorted((a, b) => a - b);
  })();
  // All have ended before anything is said of one: nothing of this test runs beside the next.
  const outcomes = await Promise.allSettled(
    people.flatMap((person) => Array.from({ length: UPLOADS }, (_, number) => upload(person, `/${number}.bin`))),
  );
  isOver = true;
  const listings = await listing;
  expect(outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))).toEqual([]);
  const seconds = (performance.now() - startedAt) / 1000;
  const middle = listings[Math.floor(listings.length / 2)] ?? 0;
  console.log(
    `${kind}: ${seconds.toFixed(0)} s; ${listings.length} listings, half of them within ${middle.toFixed(0)} ms, the last at ${listings.at(-1)?.toFixed(0)} ms`,
  );
  expect(listings.length).toBeGreaterThan(0);
  const { sha256 } = describeContent('crowd', SIZE_BYTES);
  for (const [index, person] of people.entries()) {
    for (let number = 0; number < UPLOADS; number += 1) {
      const got = await download(world.base, { path: await rawPath(world.admin, `${path}/${index}/${number}.bin`) });
      expect(got, `${index}/${number}`).toMatchObject({ sizeBytes: SIZE_BYTES, sha256 });
    }
    await expect(beginParts(person, world.base, '/one-byte-more', 1, MIB)).rejects.toThrow('quota exceeded');
  }
  expect((await world.admin.get('/api/admin/upload/list')).data).toMatchObject({ content: [], total: 0 });
}

async function upload(person: Person, path: string): Promise<void> {
  const begun = await beginParts(person, world.base, path, SIZE_BYTES, MIB);
  for (let index = 0; index < begun.total; index += 1) await untilTaken(() => sendPart(person, world.base, begun, CONTENT, index));
  await untilTaken(() => completeParts(person, world.base, begun));
}

/** As clients of the family do it: 429 says that the storage has too much to do at the moment. */
async function untilTaken(send: () => Promise<Answer>): Promise<void> {
  for (const startedAt = performance.now(); ; await delay(RETRY_MS)) {
    const { code, message } = await send();
    if (code === 200) return;
    if (code !== 429 || performance.now() - startedAt > PATIENCE_MS) throw new Error(`${code}: ${message}`);
  }
}

/** A user with a folder and a quota of its own. */
async function crowdMember(base_path: string, quota_bytes: number): Promise<Person> {
  const person = await makePerson(world, { base_path, permission: ALL_WRITES });
  const fields = userFields({ id: person.id, username: person.username, base_path, permission: ALL_WRITES, quota_bytes });
  await world.admin.call('/api/admin/user/update', fields);
  return person;
}
