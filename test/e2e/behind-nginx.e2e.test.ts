import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { download, generateContent, httpRequest, isAvailable, isMissing, makeTempDir, startNginx, startStandalone } from '@wharf/harness';
import { afterAll, expect, test } from 'vitest';
import { authorization, filePath, rawPath } from './support/files.ts';
import { uploadByParts, uploadByTus } from './support/stubborn-uploads.ts';
import { openWorld } from './support/world.ts';

const MIB = 1024 * 1024;
/** Just over the limit. */
const SIZE_BYTES = 101 * MIB;
const LIMIT_MS = 240_000;

const world = await openWorld(startStandalone);
const nginx = await startNginx({ to: world.base, maxBody: '100m' });
const dir = await makeTempDir('behind-nginx');
afterAll(async () => {
  if (!isMissing(nginx)) await nginx.stop();
  await world.close();
  await dir.remove();
});

test.runIf(isAvailable('nginx', nginx))(
  'behind an nginx that takes 100 MB, a file that it refuses as one body goes up in parts and by tus',
  { timeout: LIMIT_MS },
  async () => {
    if (isMissing(nginx)) return;
    const { admin } = world;
    const { path } = await world.folder('nginx');
    const source = join(dir.path, 'source.bin');
    await pipeline(generateContent('nginx', SIZE_BYTES), createWriteStream(source));
    const sha256 = createHash('sha256');
    for await (const chunk of createReadStream(source)) sha256.update(chunk);
    const file = { source, sizeBytes: SIZE_BYTES, sha256: sha256.digest('hex'), base: nginx.url, caller: admin };

    const refused = await httpRequest(nginx.url, {
      method: 'PUT',
      path: '/api/fs/put',
      headers: { ...authorization(admin), ...filePath(`${path}/whole.bin`), 'content-length': SIZE_BYTES, expect: '100-continue' },
    });
    expect([refused.status, refused.headers['server']]).toEqual([413, expect.stringContaining('nginx')]);

    for (const [name, upload] of [
      ['parts', uploadByParts],
      ['tus', uploadByTus],
    ] as const) {
      const at = `${path}/${name}.bin`;
      await upload({ ...file, path: at }).done;
      const got = await download(nginx.url, { path: await rawPath(admin, at) });
      expect(got, name).toMatchObject({ sizeBytes: SIZE_BYTES, sha256: file.sha256 });
    }
  },
);
