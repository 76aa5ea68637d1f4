import { buffer } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { startHttpServer } from '@wharf/harness';
import { drained } from '@wharf/pace';
import { expect, it, onTestFinished } from 'vitest';
import { namesIn } from '../../driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../driver-contract/open-context.ts';
import { withRetry } from '../../driver-contract/with-retry.ts';
import { RcloneClient } from './client.ts';
import { RcloneDriver } from './driver.ts';
import { probeNames } from './probe-names.ts';
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

function clientAt(url: string): RcloneClient {
  const rclone = { url, authorization: 'x', ended: new AbortController().signal, kill: () => undefined };
  const way = { remote: async () => ({ type: 'smb', parameters: {} }), failure: undefined, close: () => undefined };
  return new RcloneClient(way, { hold: () => () => undefined, get: async () => rclone });
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

it('of a share that cannot be written to no more names are read than are needed to try it, however many it has', async () => {
  const told: number[] = [];
  const server = await startHttpServer(async (request, response) => {
    await buffer(request);
    if (request.url === '/operations/fsinfo') response.end('{"Features":{"CanHaveEmptyDirectories":true,"PutStream":true}}');
    else if (request.url === '/operations/mkdir') response.writeHead(500).end('{"error":"permission denied"}');
    else if (request.url !== '/operations/list') response.end('{}');
    else {
      const list = told.push(0) - 1;
      response.write('{"list":[');
      for (let index = 0; index < 50_000 && !response.destroyed; index += 1) {
        told[list] = index + 1;
        if (!response.write(`${JSON.stringify(item(`${index}-${'n'.repeat(200)}`))},`)) await drained(response);
      }
      response.end(']}');
    }
  });
  onTestFinished(() => server.stop());
  const client = clientAt(server.url);
  onTestFinished(() => client.close());
  await probeNames(client, 'share', () => 'share/temp', {});
  expect(told[0]).toBeLessThan(50_000);
});
