import { randomBytes } from 'node:crypto';
import { isAvailable, isMissing, startSshServer } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mpath } from '../../src/domain/testing/memory-tree.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const server = await startSshServer();
const REQUEST_BYTES = 32 * 1024;
/** Less than the content of one request lies in the memory of nothing that is sent but content. */
const BIG_BYTES = 16 * 1024;

describe.runIf(isAvailable('sshd', server))('what is written to an SSH server', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());

  it('takes no memory any more once it is sent, and arrives as it was', async () => {
    const driver = await openSftp(itemsOf(server));
    let freed = 0;
    const transfer = ArrayBuffer.prototype.transfer;
    const spy = vi.spyOn(ArrayBuffer.prototype, 'transfer').mockImplementation(function (this: ArrayBuffer, newBytes?: number) {
      if (this.byteLength >= BIG_BYTES && newBytes === 0) freed += 1;
      return transfer.call(this, newBytes);
    });
    onTestFinished(() => spy.mockRestore());
    for (const requests of [100, 200, 400]) {
      const content = randomBytes(requests * REQUEST_BYTES);
      freed = 0;
      const pieces = async function* () {
        for (let from = 0; from < content.byteLength; from += 10 * REQUEST_BYTES) yield content.subarray(from, from + 10 * REQUEST_BYTES);
      };
      await driver.write(mpath('/sent'), pieces(), { overwrite: true, sizeBytes: content.byteLength });
      // Of each request one piece of memory; what is gathered of small ones may fill one too.
      expect(freed).toBeGreaterThanOrEqual(requests);
      expect(freed).toBeLessThan(1.1 * requests);
      const got: Buffer[] = [];
      for await (const piece of await driver.read(mpath('/sent'))) got.push(Buffer.from(piece));
      expect(Buffer.concat(got).equals(content)).toBe(true);
    }
  });
});
