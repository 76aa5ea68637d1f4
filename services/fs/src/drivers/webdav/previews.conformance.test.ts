import { chmod, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, isMissing } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, codeOf, put, refuses } from '../../driver-contract/conformance/driver-calls.ts';
import { folderSide } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { startNextcloudDouble } from './testing/nextcloud-double.ts';
import { testEgress } from './testing/test-egress.ts';

const LACKS = [
  'beginRemoval',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'readMany',
  'space',
  'statMany',
  'writeMany',
] as const;
const PNG = Buffer.from('\x89PNG and the rest of it', 'latin1');
const WANTED = { widthPixels: 144, maxBytes: 10_000 };

const server = await startNextcloudDouble();

describe.runIf(isAvailable('apache2', server))('pictures of a Nextcloud', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());

  const openAt = async (root_folder_path: string) => {
    const items = { address: server.url, username: server.username, password: server.password, root_folder_path };
    return webdavDriver.open(JSON.stringify(items), { egress: testEgress() });
  };
  const open = (around: (driver: StorageDriver) => StorageDriver) => async (): Promise<StorageUnderTest> => {
    const folder = await mkdtemp(path.join(server.folder, 'storage ä+'));
    await chmod(folder, 0o777);
    atEnd(() => rm(folder, { recursive: true, force: true }));
    return { driver: around(await openAt(`/${path.basename(folder)}`)), ...folderSide(folder) };
  };
  const common = { lacks: LACKS, hasServer: true, groups: ['entries', 'thumbnails', 'cancellation and failure', 'abilities'] } as const;
  describeDriver({ ...common, name: 'WebDav with pictures', open: open((driver) => driver) });
  describeDriver({
    ...common,
    name: 'WebDav with pictures, with everything around it',
    open: open((driver) => decorate(driver, webdavDriver.limits)),
  });

  const opened = async (root = '/') => {
    server.picture = undefined;
    server.asked.length = 0;
    const driver = (await openAt(root)) as Required<StorageDriver>;
    onTestFinished(() => driver.close());
    return driver;
  };

  it('a picture is asked for by the path below the first folder of the user, as wide as it is wanted and whole', async () => {
    await put(await opened(), '/deep ä/+&/photo #1.png', PNG);
    const driver = await opened('/deep ä');
    const { entry, image } = await driver.thumbnail(at('/+&/photo #1.png'), WANTED);
    expect(Buffer.from(image)).toEqual(PNG);
    expect(entry).toMatchObject({ name: 'photo #1.png', hasThumbnail: true, sizeBytes: PNG.byteLength });
    expect(server.asked.map((query) => Object.fromEntries(query))).toEqual([
      { file: '/deep ä/+&/photo #1.png', x: '144', y: '144', a: '1', forceIcon: '0' },
    ]);
  });

  it.each([
    ['says that there is none after all', 404, 'UNSUPPORTED_OPERATION'],
    ['lets nobody see it', 403, 'UNSUPPORTED_OPERATION'],
    ['sends us to its page', 303, 'UNSUPPORTED_OPERATION'],
    ['cannot make it now', 503, 'STORAGE_UNAVAILABLE'],
    ['does not know us any more', 401, 'STORAGE_LOGIN_FAILED'],
  ])('a server that %s is taken at its word', async (_what, status, code) => {
    const driver = await opened();
    await put(driver, '/photo.png', PNG);
    server.picture = (answer) => void answer.writeHead(status, { Location: 'http://169.254.169.254/' }).end('no');
    await refuses(code as Parameters<typeof refuses>[0], driver.thumbnail(at('/photo.png'), WANTED));
  });

  it('a picture without end is refused when it is larger than wanted', async () => {
    const driver = await opened();
    await put(driver, '/photo.png', PNG);
    let sent = 0;
    let hasEnded = false;
    server.picture = (answer) => {
      answer.writeHead(200, { 'Content-Type': 'image/png' }).once('close', () => {
        hasEnded = true;
      });
      const send = () => {
        while (!answer.destroyed && answer.write(Buffer.alloc(16_384))) sent += 16_384;
        answer.once('drain', send);
      };
      send();
    };
    expect(await codeOf(driver.thumbnail(at('/photo.png'), WANTED))).toBe('CONTENT_CORRUPT');
    await expect.poll(() => hasEnded).toBe(true);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });
});
