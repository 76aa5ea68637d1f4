import { createEgress, createEgressPolicy } from '@wharf/egress';
import { waitFor } from '@wharf/harness';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import { describe, expect, it, onTestFinished } from 'vitest';
import { leftNames, watchLooks } from '../../src/domain/testing/looks-in-one-turn.ts';
import { mpath, textOf } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { plainContext } from '../../src/driver-contract/open-context.ts';
import { SftpSession } from '../../src/drivers/sftp/client.ts';
import { sftpConfigSchema, sftpSettings } from '../../src/drivers/sftp/config.ts';
import { SftpDriver } from '../../src/drivers/sftp/driver.ts';
import { sftpDriver } from '../../src/drivers/sftp/index.ts';
import { FILE, LINK, STATUS, startHostile } from './hostile-server.ts';
import { openSftp } from './open-sftp.ts';

async function* oneOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Both sides work in this process, on what takes a moment when nothing else runs. */
const LIMIT_MS = 30_000;

describe('an SFTP server that is up to no good', { timeout: LIMIT_MS }, () => {
  it('cannot replace a file by less than it acknowledged', async () => {
    const renamed: string[] = [];
    const driver = await openSftp(await startHostile({ onRenamed: (from) => renamed.push(from) }));
    const writing = driver.write(mpath('/file'), oneOf(Buffer.alloc(3)), { overwrite: true });
    // Whatever is written, it has a file of a million bytes.
    await expect(writing).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    expect(renamed).toEqual([]);
  });

  it.each([10_000, 32 * 1024, 100_000])(
    'that is no OpenSSH is written what was given, in pieces of %i bytes whose memory is used again',
    async (pieceBytes) => {
      const stored = Buffer.alloc(FILE.size);
      const driver = await openSftp(await startHostile({ onWritten: (offset, data) => void data.copy(stored, offset) }));
      const expected = Buffer.from(Array.from({ length: FILE.size }, (_, index) => (index * 31 + (index >> 8)) % 251));
      const lent = Buffer.alloc(pieceBytes);
      const pieces = async function* () {
        for (let at = 0; at < expected.byteLength; at += pieceBytes) yield lent.subarray(0, expected.copy(lent, 0, at));
      };
      await driver.write(mpath('/file'), pieces(), { overwrite: true });
      expect(stored.equals(expected)).toBe(true);
    },
  );

  it.each([0, 1, 100])('that takes messages of %i bytes is not spoken to', async (messageBytes) => {
    expect((await refusalOf(openSftp(await startHostile({ messageBytes }))))[0]).toBe('STORAGE_UNAVAILABLE');
  });

  it('cannot have us use a handle that it did not give', async () => {
    const driver = await openSftp(await startHostile({ opens: STATUS.OK }));
    const listing = Array.fromAsync(driver.list(mpath('/')));
    const reading = (async () => Array.fromAsync(await driver.read(mpath('/file'))))();
    const refusals = await Promise.all([listing, reading].map(refusalOf));
    expect(refusals.map(([code]) => code)).toEqual(['STORAGE_UNAVAILABLE', 'STORAGE_UNAVAILABLE']);
  });

  it('cannot say names that lead elsewhere, or one twice (C4)', async () => {
    const page = [
      'ok',
      '.',
      '..',
      '',
      '../up',
      'a/b',
      '/etc/passwd',
      'nul\0name',
      'cr\r\nlf',
      'back\\slash',
      'no\ufffdtext',
      'x'.repeat(300),
      'ok',
    ];
    const driver = await openSftp(await startHostile({ names: (request) => (request === 0 ? page : undefined) }));
    expect((await Array.fromAsync(driver.list(mpath('/')))).map(({ name }) => name)).toEqual(['ok']);
  });

  it('cannot keep the thread by names of ours, of which the system is asked for their process', async () => {
    const page = ['ok', ...leftNames(1_500).map((name) => `.wharf-tmp-${name}`)];
    const driver = await openSftp(await startHostile({ names: (request) => (request === 0 ? page : undefined) }));
    const mostLooks = watchLooks();
    expect((await Array.fromAsync(driver.list(mpath('/')))).map(({ name }) => name)).toEqual(['ok']);
    expect(mostLooks()).toBeLessThan(1_000);
  });

  it.each([
    ['new names', (request: number, index: number) => `name-${request}-${index}`],
    ['names that are none', () => '..'],
    ['empty answers', undefined],
  ])('cannot send %s for ever', async (_what, nameOf) => {
    let asked = 0;
    const names = (request: number) => {
      asked = request;
      return nameOf ? Array.from({ length: 2_000 }, (_, index) => nameOf(request, index)) : [];
    };
    const driver = await openSftp(await startHostile({ names }));
    const listing = (async () => {
      for await (const _entry of driver.list(mpath('/')));
    })();
    expect((await refusalOf(listing))[0]).toBe('UNSUPPORTED_OPERATION');
    expect(asked).toBeLessThan(1_000);
  });

  it('cannot have us ask about all links of a folder, or remove all that looks like ours, at once', async () => {
    let most = 0;
    const ended = { ...currentOwner(), pid: 4_194_305 };
    const page = Array.from({ length: 200 }, (_, index) => [`link-${index}`, `.wharf-tmp-${newOwnedName(ended)}`]).flat();
    const names = (request: number) => (request === 0 ? page : undefined);
    const onWaiting = (count: number) => {
      most = Math.max(most, count);
    };
    const driver = await openSftp(await startHostile({ names, kind: LINK, onWaiting }));
    expect(await Array.fromAsync(driver.list(mpath('/')))).toHaveLength(200);
    expect(most).toBeLessThan(60);
  });

  it('cannot flood us with messages that nobody asked for', async () => {
    const flooded = Promise.withResolvers<number>();
    const driver = await openSftp(await startHostile({ onFlooded: flooded.resolve }));
    expect(await refusalOf(driver.stat(mpath('/flood')))).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('floods')]);
    expect(await flooded.promise).toBeLessThan(20_000);
    expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(FILE.size);
  });

  it('that answers nothing over a connection, but shows signs of life, is spoken to over another one', async () => {
    let [mutes, heard] = [0, 0];
    const onWaiting = () => {
      heard += 1;
    };
    const items = await startHostile({ isMute: (connection) => connection <= mutes, onWaiting });
    const settings = sftpSettings(sftpConfigSchema.parse(JSON.parse(sftpDriver.normaliseAddition(JSON.stringify(items)))));
    const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
    const driver = await SftpDriver.open(settings, plainContext({}, { egress }), 0);
    onTestFinished(() => driver.close());
    await driver.stat(mpath('/file'));
    mutes = 10;
    const before = heard;
    const gone = new AbortController();
    const looking = refusalOf(driver.stat(mpath('/file'), { signal: gone.signal }));
    await waitFor('the question', () => heard > before);
    gone.abort();
    expect((await looking)[0]).toBe('CANCELLED');
    mutes = 2;
    await waitFor('another connection', async () => (await driver.stat(mpath('/file'))).sizeBytes === FILE.size);
  });

  it('that never answers one question, but all others, is known by it', async () => {
    let [isMute, heard] = [false, 0];
    const onWaiting = () => {
      heard += 1;
    };
    const items = await startHostile({ isMute: () => isMute, onWaiting });
    const settings = sftpSettings(sftpConfigSchema.parse(JSON.parse(sftpDriver.normaliseAddition(JSON.stringify(items)))));
    const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
    const none = { key: undefined, hostKeyType: undefined, checkHostKey: () => undefined };
    const session = await SftpSession.connect({ ...none, settings, egress, password: 'x', signal: new AbortController().signal });
    onTestFinished(() => session.end());
    isMute = true;
    const unanswered = Array.from({ length: 2 }, async (_, index) => {
      await waitFor('the one before', () => heard === index);
      return session.lstat('/root/file');
    });
    await waitFor('both questions', () => heard === 2);
    isMute = false;
    await waitFor('it to be known', async () => {
      await session.lstat('/root/file');
      return session.isSilentFor(100);
    });
    session.end();
    for (const outcome of await Promise.allSettled(unanswered)) expect(outcome.status).toBe('rejected');
  });

  it.each([
    ['ends too early', () => undefined],
    ['sends nothing', () => Buffer.alloc(0)],
  ])('cannot pass off a file that %s as whole', async (_what, bytes) => {
    const driver = await openSftp(await startHostile({ bytes }));
    const reading = (async () => {
      for await (const _piece of await driver.read(mpath('/file')));
    })();
    expect(['CONTENT_CORRUPT', 'STORAGE_UNAVAILABLE']).toContain((await refusalOf(reading))[0]);
  });

  it('cannot have a file with content read as empty by a size of 0', async () => {
    const driver = await openSftp(await startHostile({ fileBytes: 0, bytes: () => Buffer.from('x') }));
    expect((await refusalOf(driver.read(mpath('/file'))))[0]).toBe('CONTENT_CORRUPT');
    const empty = await openSftp(await startHostile({ fileBytes: 0 }));
    expect(await textOf(await empty.read(mpath('/file')))).toBe('');
  });

  it('that sends little at a time is read whole all the same', async () => {
    const driver = await openSftp(await startHostile({ bytes: (_offset, length) => Buffer.alloc(Math.min(length, 10_000), 'x') }));
    let bytes = 0;
    for await (const piece of await driver.read(mpath('/file'))) bytes += piece.byteLength;
    expect(bytes).toBe(FILE.size);
  });

  it('never has to wait before it may send what is asked of it', async () => {
    let least = Number.POSITIVE_INFINITY;
    const onRead = (windowBytes: number) => {
      least = Math.min(least, windowBytes);
    };
    const asked = { fileBytes: 24 * 1024 * 1024, bytes: (_offset: number, length: number) => Buffer.alloc(length, 'x') };
    const driver = await openSftp(await startHostile({ ...asked, onRead }));
    let bytes = 0;
    for await (const piece of await driver.read(mpath('/file'))) bytes += piece.byteLength;
    expect(bytes).toBe(asked.fileBytes);
    // What is asked for at once is 4 MiB.
    expect(least).toBeGreaterThan(1024 * 1024);
  });

  it.each(['/', '/rootless', '/root/../etc', 'root', '/etc', `/root${'/a'.repeat(20_000)}`])(
    'cannot lead out of the root, nor keep the thread, by calling %.20s a real path',
    async (elsewhere) => {
      const driver = await openSftp(await startHostile({ realpath: (path) => (path === '/root' ? path : elsewhere) }));
      expect(['PERMISSION_DENIED', 'STORAGE_UNAVAILABLE']).toContain((await refusalOf(driver.stat(mpath('/file'))))[0]);
    },
  );
});
