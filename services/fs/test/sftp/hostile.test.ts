import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import ssh2, { type SFTPWrapper } from 'ssh2';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mpath } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const FILE = { mode: 0o100644, size: 1_000_000 };
const FOLDER = { mode: 0o040755, size: 0 };
const LINK = { mode: 0o120777, size: 1 };
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
const STATUS = ssh2.utils.sftp.STATUS_CODE;
const attrsOf = (attrs: { mode: number; size: number }) => ({ uid: 0, gid: 0, atime: 0, mtime: 0, ...attrs });

interface Answers {
  realpath: (path: string) => string;
  /** A page of names for each request; undefined at the end. */
  names: (request: number) => readonly string[] | undefined;
  /** What a request for bytes gets; undefined for the end of the file. */
  bytes: (offset: number, length: number) => Buffer | undefined;
  /** What all names in folders are. */
  kind: { mode: number; size: number };
  /** Told how many questions about one place wait for their answer. */
  onWaiting: (count: number) => void;
  /** Told with each request for bytes how many more it may send before it has to wait. */
  onRead: (windowBytes: number) => void;
  /** What an open file has. */
  fileBytes: number;
  /** Told what it was to write where. */
  onWritten: (offset: number, bytes: Buffer) => void;
  /** The most that a message to it may carry. */
  messageBytes: number | undefined;
  /** What it says to every `OPEN` and `OPENDIR` in the place of a handle. */
  opens: number | undefined;
  /** Told what was given another name. */
  onRenamed: (from: string) => void;
  /** Told how many messages it got rid of after it was asked for `/root/flood`. */
  onFlooded: (messages: number) => void;
}

/** A server that lets everybody in and says what it is told to. */
async function startHostile(given: Partial<Answers>) {
  const answers: Answers = {
    realpath: (path) => path,
    names: () => undefined,
    bytes: () => undefined,
    kind: FILE,
    onWaiting: () => undefined,
    onFlooded: () => undefined,
    onRenamed: () => undefined,
    onRead: () => undefined,
    fileBytes: FILE.size,
    onWritten: () => undefined,
    opens: undefined,
    messageBytes: undefined,
    ...given,
  };
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => undefined);
    // Its many small answers would wait for each other.
    (Reflect.get(client, '_sock') as Socket).setNoDelay(true);
    client.on('authentication', (login) => login.accept());
    if (answers.messageBytes !== undefined) {
      const protocol = Reflect.get(client, '_protocol') as { channelOpenConfirm(...told: number[]): void };
      const confirm = protocol.channelOpenConfirm.bind(protocol);
      protocol.channelOpenConfirm = (...told) => confirm(...told.slice(0, -1), answers.messageBytes ?? 0);
    }
    client.on('session', (accept) => accept().on('sftp', (acceptSftp) => serve(acceptSftp(), { ...answers, flood: () => flood(client) })));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return itemsOf({ host: '127.0.0.1', port, username: 'keeper', password: 'x', rootPath: '/root' });
}

/** Sends tiny messages that want an answer, as long as anybody takes them. @returns how many */
async function flood(client: ssh2.Connection): Promise<number> {
  const protocol = Reflect.get(client, '_protocol') as { ping(): void };
  let sent = 0;
  let isOver = false;
  client.on('close', () => {
    isOver = true;
  });
  while (!isOver && sent < 1_000_000) {
    for (let message = 0; message < 500; message++) protocol.ping();
    sent += 500;
    await setImmediate();
  }
  return sent;
}

function serve(
  sftp: SFTPWrapper,
  {
    realpath,
    names,
    bytes,
    kind,
    onWaiting,
    onFlooded,
    onRenamed,
    onRead,
    fileBytes,
    onWritten,
    opens,
    flood,
  }: Answers & {
    flood: () => Promise<number>;
  },
): void {
  let waiting = 0;
  const later = (answer: () => void) => {
    onWaiting(++waiting);
    void setImmediate().then(() => {
      waiting -= 1;
      answer();
    });
  };
  /** How often each open folder was asked for names. */
  const requests: number[] = [];
  // It tells one spelling from another, so far it is honest.
  const made = new Set<string>();
  sftp.on('MKDIR', (id, path) => {
    made.add(path);
    sftp.status(id, STATUS.OK);
  });
  sftp.on('RMDIR', (id) => sftp.status(id, STATUS.OK));
  const look = (id: number, path: string) => (path === '/root/flood' ? void flood().then(onFlooded) : answer(id, path));
  const answer = (id: number, path: string) => later(() => sftp.attrs(id, attrsOf(path === '/root' ? FOLDER : kind)));
  sftp.on('REALPATH', (id, path) => later(() => sftp.name(id, [{ filename: realpath(path), longname: '', attrs: attrsOf(FOLDER) }])));
  sftp.on('REMOVE', (id) => later(() => sftp.status(id, STATUS.OK)));
  const isTried = (path: string) => path.startsWith('/root/.wharf-tmp');
  sftp.on('STAT', look).on('LSTAT', (id, path) => (isTried(path) ? sftp.status(id, STATUS.NO_SUCH_FILE) : look(id, path)));
  const open = (id: number, path: string, handle: Buffer) =>
    opens !== undefined && !isTried(path) ? sftp.status(id, opens) : sftp.handle(id, handle);
  sftp.on('OPENDIR', (id, path) => open(id, path, Buffer.from(isTried(path) ? path : [requests.push(0) - 1])));
  sftp.on('OPEN', (id, path) => open(id, path, Buffer.from('file')));
  sftp.on('FSTAT', (id) => sftp.attrs(id, attrsOf({ ...FILE, size: fileBytes })));
  sftp.on('WRITE', (id, _handle, offset, data) => {
    onWritten(offset, data);
    later(() => sftp.status(id, STATUS.OK));
  });
  sftp.on('FSETSTAT', (id) => sftp.status(id, STATUS.OK));
  sftp.on('RENAME', (id, from) => {
    onRenamed(from);
    sftp.status(id, STATUS.OK);
  });
  sftp.on('CLOSE', (id) => sftp.status(id, STATUS.OK));
  sftp.on('READDIR', (id, handle) => {
    if (handle.byteLength > 1) {
      const tried = [...made].filter((path) => path.startsWith(`${handle}/`));
      made.clear();
      if (tried.length === 0) return void sftp.status(id, STATUS.EOF);
      return void sftp.name(
        id,
        tried.map((path) => ({ filename: path.slice(handle.byteLength + 1), longname: '', attrs: attrsOf(FOLDER) })),
      );
    }
    const request = requests[handle[0] ?? 0] ?? 0;
    requests[handle[0] ?? 0] = request + 1;
    const page = names(request);
    if (page === undefined) sftp.status(id, STATUS.EOF);
    else
      sftp.name(
        id,
        page.map((filename) => ({ filename, longname: filename, attrs: attrsOf(kind) })),
      );
  });
  const { outgoing } = sftp as unknown as { outgoing: { window: number } };
  sftp.on('READ', (id, _handle, offset, length) => {
    onRead(outgoing.window);
    const data = bytes(offset, length);
    if (data === undefined) sftp.status(id, STATUS.EOF);
    else sftp.data(id, data);
  });
}

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
    for (const trial of [listing, reading]) expect((await refusalOf(trial))[0]).toBe('STORAGE_UNAVAILABLE');
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

  it.each(['/', '/rootless', '/root/../etc', 'root', '/etc'])(
    'cannot lead out of the root by calling %s a real path',
    async (elsewhere) => {
      const driver = await openSftp(await startHostile({ realpath: (path) => (path === '/root' ? path : elsewhere) }));
      expect(['PERMISSION_DENIED', 'STORAGE_UNAVAILABLE']).toContain((await refusalOf(driver.stat(mpath('/file'))))[0]);
    },
  );
});
