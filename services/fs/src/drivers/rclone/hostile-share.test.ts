import { buffer } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { namesIn } from '../../driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../driver-contract/open-context.ts';
import { withRetry } from '../../driver-contract/with-retry.ts';
import { RcloneDriver } from './driver.ts';
import { smbStorage } from './smb.ts';

const SHARE = {
  ...{ host: '127.0.0.1', port: 445, username: 'u', domain: undefined, password: 'p' },
  ...{ share: 'share', root: [], rootPath: '.' },
};
const item = (Name: string, IsDir = false) => ({ Name, IsDir, Size: 1, ModTime: '2026-11-22T19:00:00Z' });

/** A share of which rclone passes on whatever its server says. @param endsOf whether the listing of a folder is what rclone is ended for */
async function openShare(names: readonly string[], endsOf: (folder: string) => boolean = () => false): Promise<RcloneDriver> {
  const said: Record<string, object> = {
    '/operations/fsinfo': { Features: { CanHaveEmptyDirectories: true } },
    '/operations/stat': { item: item('', true) },
    '/operations/list': { list: names.map((name) => item(name)) },
  };
  const ended = new AbortController();
  const server = await startHttpServer(async (request, response) => {
    const body = await buffer(request);
    if (request.url === '/operations/list' && endsOf(JSON.parse(body.toString()).remote)) {
      ended.abort(new AppError('STORAGE_UNAVAILABLE', 'rclone took more memory than it may'));
      response.destroy();
    } else response.end(JSON.stringify(said[request.url ?? ''] ?? {}));
  });
  const rclone = { url: server.url, authorization: 'x', ended: ended.signal, kill: () => undefined };
  const way = { remote: async () => ({ type: 'smb', parameters: {} }), failure: undefined, close: () => undefined };
  const get = async () => {
    if (ended.signal.aborted) throw new AppError('STORAGE_UNAVAILABLE', 'about to be started again', { details: { retryAfterMs: 1 } });
    return rclone;
  };
  const source = { hold: () => () => undefined, get };
  const driver = await RcloneDriver.open({ ...smbStorage(SHARE), openWay: () => way, source: () => source }, plainContext({}, {}));
  onTestFinished(async () => {
    await driver.close();
    await server.stop();
  });
  return driver;
}

it('the server of a share cannot say names that lead elsewhere, or one twice (C4)', async () => {
  const evil = ['..', '.', '../up', '..\\up', 'a/b', '/etc/passwd', 'C:\\Windows', '\\\\host\\share', 'nul\0name', 'cr\r\nlf', ''];
  const driver = await openShare([...evil, 'n'.repeat(300), 'x'.repeat(65_536), 'fine', 'fine', 'also fine']);
  expect(await namesIn(driver, '/')).toEqual(['fine', 'also fine']);
});

it.each(['/', '/endless'])('a listing of %s for which rclone was ended is not asked for again at once', async (folder) => {
  let asked = 0;
  let isEndless = false;
  const driver = await openShare(['endless'], () => {
    if (isEndless) asked += 1;
    return isEndless;
  });
  await namesIn(driver, '/');
  isEndless = true;
  await expect(namesIn(withRetry(driver, [1, 1]), folder)).rejects.toMatchObject({
    message: 'rclone took more memory than it may',
    details: { retryAfterMs: 60_000 },
  });
  expect(asked).toBe(1);
});
