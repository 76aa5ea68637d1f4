import { ensureCommand, isAvailable, isMissing, startHttpServer } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { at, refuses } from '../../src/driver-contract/conformance/driver-calls.ts';
import type { ByteRange, StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { opened } from '../../src/drivers/rclone/testing/type-suite.ts';

const program = await ensureCommand('rclone', 'rclone');
const CONTENT = Buffer.alloc(300_000, 'what nobody has counted ');

describe.runIf(isAvailable('rclone', program))('a file whose size rclone does not know', () => {
  if (isMissing(program)) return;

  /** Files of a web server that says of none how long it is. @param cutAt where the connection of a content ends */
  const openUncounted = async (cutAt?: number): Promise<StorageDriver> => {
    const site = await startHttpServer((request, response) => {
      response.setHeader('Last-Modified', new Date(1_700_000_000_000).toUTCString());
      if (request.url === '/files/')
        return void response.setHeader('Content-Type', 'text/html').end('<a href="f">f</a> <a href="empty">empty</a>');
      if (request.url !== '/files/f' && request.url !== '/files/empty') return void response.writeHead(404).end();
      response.flushHeaders();
      if (request.method === 'HEAD' || request.url === '/files/empty') return void response.end();
      if (cutAt === undefined) return void response.end(CONTENT);
      response.write(CONTENT.subarray(0, cutAt), () => response.destroy());
    });
    onTestFinished(() => site.stop());
    const driver = await opened('http', { url: `${site.url}/` }, {}, 'files');
    onTestFinished(() => driver.close());
    return driver;
  };
  const read = async (driver: StorageDriver, path: string, range?: ByteRange) => {
    const content = await driver.read(at(path), range);
    return { sizeBytes: content.entry.sizeBytes, bytes: Buffer.concat(await Array.fromAsync(content, (piece) => Buffer.from(piece))) };
  };

  it('comes whole, and in ranges', async () => {
    const driver = await openUncounted();
    expect((await driver.stat(at('/f'))).sizeBytes).toBeUndefined();
    const whole = await read(driver, '/f');
    expect([whole.sizeBytes, whole.bytes.equals(CONTENT)]).toEqual([undefined, true]);
    expect((await read(driver, '/f', { offsetBytes: 1_000, lengthBytes: 500 })).bytes.equals(CONTENT.subarray(1_000, 1_500))).toBe(true);
    expect((await read(driver, '/f', { offsetBytes: 299_000 })).bytes.equals(CONTENT.subarray(299_000))).toBe(true);
    expect((await read(driver, '/empty')).bytes.length).toBe(0);
    await refuses('ENTRY_NOT_FOUND', read(driver, '/none'));
  });

  it('is never removed as the one that was read: where it breaks off rclone does not say so', async () => {
    const driver = (await openUncounted(100_000)) as Required<StorageDriver>;
    expect((await read(driver, '/f')).bytes.length).toBeLessThan(CONTENT.length);
    await refuses('STALE_VERSION', driver.remove(at('/f'), { recursive: false, onlyIf: await driver.stat(at('/f')) }));
  });
});
