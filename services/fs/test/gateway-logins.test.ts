import { at, login, startStandalone } from '@wharf/harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openListDriver } from '../src/drivers/same-api/index.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const ROUNDS = 5;

const far = await startStandalone();
const admin = await login(far.base, 'admin', far.adminPassword);
let installation: Installation;
let replicas: Replica[];

beforeAll(async () => {
  installation = await openInstallation();
  const addition = { url: far.base, username: 'admin', password: far.adminPassword, root_folder_path: '/local' };
  await installation.writeStorage({ _id: 1, mount_path: '/far', driver: 'OpenList', addition: JSON.stringify(addition) });
  replicas = [await installation.open([openListDriver]), await installation.open([openListDriver])];
});
afterAll(async () => {
  await installation?.close();
  await far.stop();
});

/** The logins that the other gateway has, without the test's own. */
async function logins(): Promise<string[]> {
  const sessions = at((await admin.get('/api/me/sessions')).data, 'content');
  if (!Array.isArray(sessions)) throw new Error('no list of logins');
  return sessions.filter((session) => at(session, 'current') === false).map((session) => String(at(session, 'id')));
}

it('a login that another gateway ends is made anew once by all replicas, and kept sealed', async () => {
  const look = (replica: Replica) => replica.fs.getEntry({ path: '/far' }, installation.as());
  const listing = async (replica: Replica) => {
    for await (const part of replica.fs.listEntries({ path: '/far', refresh: true }, installation.as())) expect(part).toBeDefined();
  };
  await Promise.all(replicas.map(listing));
  expect(await logins()).toHaveLength(1);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const [before = ''] = await logins();
    await admin.call('/api/me/sessions/revoke', { id: before });
    await Promise.all([...replicas, ...replicas, ...replicas].flatMap((replica) => [listing(replica), look(replica)]));
    const [after, ...more] = await logins();
    expect(more).toEqual([]);
    expect(after).not.toBe(before);
  }
  const kept = replicas.flatMap((replica) => replica.kept);
  expect(new Set(kept.map(({ name }) => name))).toEqual(new Set(['token']));
  for (const replica of replicas) expect(replica.log()).not.toContain(far.adminPassword);
});
