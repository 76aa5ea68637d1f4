import { createRequire } from 'node:module';
import { isAvailable, isMissing, startSshServer } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mpath } from '../../src/domain/testing/memory-tree.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const server = await startSshServer();
/** What the library sends by, which it does not show to others. */
const { prototype: protocol } = createRequire(import.meta.url)('ssh2/lib/protocol/Protocol.js') as {
  prototype: { channelData(channel: number, data: Buffer): void };
};
const { channelData } = protocol;
/** draft-ietf-secsh-filexfer-02, 3 */
const TYPES: Readonly<Record<number, string>> = {
  3: 'open',
  4: 'close',
  6: 'write',
  7: 'lstat',
  8: 'fstat',
  16: 'realpath',
  18: 'rename',
  200: 'extended',
};

/** The kinds of the requests in a message that holds whole ones. */
function requestsIn(message: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at < message.byteLength; at += 4 + message.readUInt32BE(at)) found.push(TYPES[message[at + 4] ?? 0] ?? 'other');
  return found;
}

describe.runIf(isAvailable('sshd', server))('a small file on an SSH server', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());

  it('takes ten requests, and fewer messages, where many are written at once', async () => {
    const driver = await openSftp(itemsOf(server));
    const content = async function* () {
      yield Buffer.alloc(100);
    };
    const writeAll = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          driver.write(mpath(`/d/${count}-${index}`), content(), { overwrite: true, sizeBytes: 100 }),
        ),
      );
    // All connections stand after that.
    await writeAll(64);
    const messages: Buffer[] = [];
    const sent = vi.spyOn(protocol, 'channelData').mockImplementation(function (this: typeof protocol, channel, data) {
      messages.push(Buffer.from(data));
      channelData.call(this, channel, data);
    });
    onTestFinished(() => sent.mockRestore());
    for (const count of [8, 16, 32]) {
      messages.length = 0;
      await writeAll(count);
      const requests = Object.entries(Object.groupBy(messages.flatMap(requestsIn), (kind) => kind));
      expect(Object.fromEntries(requests.map(([kind, all]) => [kind, all?.length]))).toEqual({
        ...{ realpath: count, lstat: 3 * count, open: count, write: count, fstat: count, close: count },
        // To make it durable, and to give it its name; two looks see that it has it.
        extended: 2 * count,
      });
      expect(messages.length).toBeLessThan(4 * count);
    }
  });
});
