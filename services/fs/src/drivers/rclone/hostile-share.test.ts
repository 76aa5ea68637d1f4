import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { namesIn } from '../../driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../driver-contract/open-context.ts';
import { RcloneDriver } from './driver.ts';
import { smbStorage } from './smb.ts';

const SHARE = {
  ...{ host: '127.0.0.1', port: 445, username: 'u', domain: undefined, password: 'p' },
  ...{ share: 'share', root: [], rootPath: '.' },
};
const item = (Name: string, IsDir = false) => ({ Name, IsDir, Size: 1, ModTime: '2026-11-22T19:00:00Z' });

/** A share of which rclone passes on whatever its server says. */
async function openShare(names: readonly string[]): Promise<RcloneDriver> {
  const said: Record<string, object> = {
    '/operations/fsinfo': { Features: { CanHaveEmptyDirectories: true } },
    '/operations/stat': { item: item('', true) },
    '/operations/list': { list: names.map((name) => item(name)) },
  };
  const server = await startHttpServer((request, response) => {
    request.resume().once('end', () => response.end(JSON.stringify(said[request.url ?? ''] ?? {})));
  });
  const rclone = { url: server.url, authorization: 'x', ended: new AbortController().signal, kill: () => undefined };
  const way = { remote: async () => ({ type: 'smb', parameters: {} }), failure: undefined, close: () => undefined };
  const source = { hold: () => () => undefined, get: async () => rclone };
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
