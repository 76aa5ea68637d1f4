import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type HttpRequest,
  httpRequest,
  isAvailable,
  isMissing,
  makeTempDir,
  startNginx,
  startServices,
  startStandalone,
} from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { rawPath } from './support/files.ts';
import { openWorld } from './support/world.ts';

const LOCATION = '/_files';
const TEXT = 'what the file holds';

describe.each([
  ['one process', startStandalone],
  ['five services', startServices],
] as const)('%s behind an nginx that sends files by itself', async (_shape, start) => {
  const dir = await makeTempDir('files-by-nginx');
  const filesDir = join(dir.path, 'files');
  await mkdir(filesDir);
  const world = await openWorld(start, { filesDir, env: { WHARF_ACCEL_REDIRECT: `${filesDir}=${LOCATION}` } });
  const nginx = await startNginx({ to: world.base, maxBody: '1m', files: { location: LOCATION, folder: filesDir } });
  afterAll(async () => {
    if (!isMissing(nginx)) await nginx.stop();
    await world.close();
    await dir.remove();
  });
  const url = isMissing(nginx) ? '' : nginx.url;
  const { admin } = world;
  /** Makes a file, and asks for it by its link. */
  const makeFile = async (name: string, content = TEXT) => {
    const { path, disk } = await world.folder('files');
    await writeFile(join(disk, name), content);
    const link = await rawPath(admin, `${path}/${name}`);
    return {
      disk: join(disk, name),
      link,
      by: (base: string, request: Partial<HttpRequest> = {}) => httpRequest(base, { path: link, ...request }),
    };
  };
  const itHolds = test.runIf(isAvailable('nginx', nginx));

  itHolds('a file comes from nginx, with everything that Wharf says of it', async () => {
    const file = await makeFile('a page ü%?#.html', '<script>alert(1)</script>');
    const told = await file.by(world.base);
    expect([told.status, told.text(), told.headers['x-accel-redirect']]).toEqual([
      200,
      '',
      expect.stringMatching(/^\/_files\/.*%C3%BC%25%3F%23.html$/),
    ]);
    const sent = await file.by(url);
    expect([sent.status, sent.text(), sent.headers['x-accel-redirect']]).toEqual([200, '<script>alert(1)</script>', undefined]);
    expect(sent.headers['accept-ranges']).toBe('bytes');
    for (const header of [
      ...['content-type', 'content-disposition', 'content-security-policy', 'x-content-type-options', 'etag', 'last-modified'],
      ...['access-control-allow-origin', 'access-control-expose-headers', 'cache-control'],
    ]) {
      expect(told.headers[header], header).toBeDefined();
      expect(sent.headers[header], header).toBe(told.headers[header]);
    }
  });

  itHolds('ranges are those of the file, and conditions are answered by Wharf', async () => {
    const file = await makeFile('ranged.txt');
    const range = await file.by(url, { headers: { range: 'bytes=5-7' } });
    expect([range.status, range.text(), range.headers['content-range']]).toEqual([206, TEXT.slice(5, 8), `bytes 5-7/${TEXT.length}`]);
    expect((await file.by(url, { headers: { range: 'bytes=999-' } })).status).toBe(416);
    const etag = String(range.headers['etag']);
    expect((await file.by(url, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await file.by(url, { headers: { 'if-match': '"other"' } })).status).toBe(412);
    const resumed = await file.by(url, { headers: { range: 'bytes=5-', 'if-range': etag } });
    expect([resumed.status, resumed.text()]).toEqual([206, TEXT.slice(5)]);
    const head = await file.by(url, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.headers['etag']]).toEqual([200, String(TEXT.length), etag]);
  });

  itHolds('nobody gets more than Wharf lets them: no signature, no address from outside, no way out of the folder', async () => {
    const file = await makeFile('secret.txt');
    const refused = await httpRequest(url, { path: file.link.replace(/sign=[^&]*/, 'sign=wrong:0') });
    expect([refused.status >= 400, refused.text()]).toEqual([true, expect.not.stringContaining(TEXT)]);
    const asked = String((await file.by(world.base)).headers['x-accel-redirect']);
    expect((await httpRequest(url, { path: asked })).status).toBe(404);

    const outside = join(dir.path, `outside-${world.unique('x')}`);
    await writeFile(outside, 'not for anybody');
    const led = await makeFile('led.txt');
    await rename(led.disk, `${led.disk}.old`);
    await symlink(outside, led.disk);
    expect((await led.by(url)).text()).not.toContain('not for anybody');
  });

  itHolds('a file of another folder comes from Wharf', async () => {
    const other = join(dir.path, `other-${world.unique('x')}`);
    await mkdir(other);
    await writeFile(join(other, 'a.txt'), TEXT);
    const mount = `/${world.unique('other')}`;
    const addition = JSON.stringify({ root_folder_path: other });
    await admin.call('/api/admin/storage/create', { mount_path: mount, driver: 'Local', addition });
    const link = await rawPath(admin, `${mount}/a.txt`);
    const sent = await httpRequest(world.base, { path: link });
    expect([sent.text(), sent.headers['x-accel-redirect']]).toEqual([TEXT, undefined]);
  });
});
