import { httpRequest } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mpath } from '../src/domain/testing/memory-tree.ts';
import { createExpiringLogin } from '../src/drivers/memory/testing/expiring-login.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const EXPIRIES = 100;
const FILE_BYTES = 8 * 1024 * 1024;

let installation: Installation;
let replicas: Replica[];
const login = createExpiringLogin('Expiring');

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/e', driver: 'Expiring', addition: login.addition });
  replicas = [await installation.open([login.definition]), await installation.open([login.definition])];
});
afterAll(() => installation?.close());

describe('a login that expires', () => {
  it('is renewed once by all replicas, and cuts no transfer', async () => {
    const content = Buffer.alloc(FILE_BYTES, 'a text that repeats ');
    const whole = (async function* () {
      yield content;
    })();
    await login.store.write(mpath('/f'), whole, { overwrite: true });
    const download = (replica: Replica) => httpRequest(replica.url, { path: `/d/e/f?${installation.sign('/e/f')}` });
    const look = (replica: Replica) => replica.fs.getEntry({ path: '/e/f' }, installation.as());
    await Promise.all(replicas.map(look));
    const before = login.renewals();
    const transfers: Promise<Buffer>[] = [];
    for (let round = 1; round <= EXPIRIES; round += 1) {
      if (round % 10 === 1) transfers.push(...replicas.map(async (replica) => (await download(replica)).body));
      login.expire();
      await Promise.all([...replicas, ...replicas].map(look));
      expect(login.renewals() - before).toBeGreaterThanOrEqual(round);
    }
    for (const body of await Promise.all(transfers)) expect(body.equals(content)).toBe(true);
    // Each token was shown to all, so none was asked for twice.
    expect(login.renewals() - before).toBe(EXPIRIES);
    expect(login.openings()).toBe(replicas.length);
  });
});
