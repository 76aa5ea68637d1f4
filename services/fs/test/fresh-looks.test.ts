import { httpRequest } from '@wharf/harness';
import { parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

let installation: Installation;
let replica: Replica;
/** Its listings are kept, as those of a server are. */
const keeping = createTestDriver('Keeping', ['listNames', 'statMany']);

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/m', driver: 'Keeping', cache_expiration: 30 });
  replica = await installation.open([keeping.definition]);
});
afterAll(() => installation?.close());

it('what another program stored is told by a look with `refresh`, with its ETag, also while a listing from before is kept', async () => {
  const write = async (text: string) => {
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    await keeping.storeOf().write(relativeTo(VIRTUAL_ROOT, parseVirtualPath('/f')), content, { overwrite: true });
  };
  const get = (refresh: boolean) => replica.fs.getEntry({ path: '/m/f', refresh }, installation.as());
  const head = () => httpRequest(replica.url, { method: 'HEAD', path: `/d/m/f?${installation.sign('/m/f')}` });
  await write('before');
  const before = await get(true);
  expect(before.etag).toBe((await head()).headers.etag);
  await Array.fromAsync(replica.fs.listEntries({ path: '/m', refresh: true }, installation.as()));
  await write('by another program');
  expect(await get(false)).toMatchObject({ size: 6, etag: '' });
  const now = await get(true);
  expect([now.size, now.etag]).toEqual([18, (await head()).headers.etag]);
  expect(now.etag).not.toBe(before.etag);
});
