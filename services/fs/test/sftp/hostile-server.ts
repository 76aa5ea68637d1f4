import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import ssh2, { type SFTPWrapper } from 'ssh2';
import { onTestFinished } from 'vitest';
import { itemsOf } from './open-sftp.ts';

export const FILE = { mode: 0o100644, size: 1_000_000 };
const FOLDER = { mode: 0o040755, size: 0 };
export const LINK = { mode: 0o120777, size: 1 };
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
export const STATUS = ssh2.utils.sftp.STATUS_CODE;
const attrsOf = (attrs: { mode: number; size: number }) => ({ uid: 0, gid: 0, atime: 0, mtime: 0, ...attrs });

interface Answers {
  realpath: (path: string) => string;
  /** A page of names for each request about an open folder; undefined at the end. */
  names: (request: number, folder: string) => readonly string[] | undefined;
  /** What a request for bytes gets; undefined for the end of the file. */
  bytes: (offset: number, length: number) => Buffer | undefined;
  /** Whether there is a folder at a path; what else there is, is as `kind` says. */
  isFolder: (path: string) => boolean;
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
  /** Whether it says nothing any more over a connection; it counts them from 1 on. */
  isMute: (connection: number) => boolean;
  /** Told how many messages it got rid of after it was asked for `/root/flood`. */
  onFlooded: (messages: number) => void;
}

/** A server that lets everybody in and says what it is told to. It ends with its test. */
export async function startHostile(given: Partial<Answers>) {
  const answers: Answers = {
    realpath: (path) => path,
    names: () => undefined,
    bytes: () => undefined,
    isFolder: (path) => path === '/root',
    kind: FILE,
    onWaiting: () => undefined,
    onFlooded: () => undefined,
    onRenamed: () => undefined,
    onRead: () => undefined,
    fileBytes: FILE.size,
    onWritten: () => undefined,
    opens: undefined,
    messageBytes: undefined,
    isMute: () => false,
    ...given,
  };
  let connections = 0;
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
    connections += 1;
    const connection = connections;
    client.on('session', (accept) =>
      accept().on('sftp', (acceptSftp) => {
        const sftp = acceptSftp();
        muteWhen(sftp, () => answers.isMute(connection));
        serve(sftp, { ...answers, flood: () => flood(client) });
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return itemsOf({ host: '127.0.0.1', port, username: 'keeper', password: 'x', rootPath: '/root' });
}

/** Has it say nothing while it is told so. Signs of life that the library gives by itself go on. */
function muteWhen(sftp: SFTPWrapper, isMute: () => boolean): void {
  for (const how of ['status', 'attrs', 'name', 'handle', 'data'] as const) {
    const say = (sftp[how] as (...said: unknown[]) => void).bind(sftp);
    Reflect.set(sftp, how, (...said: unknown[]) => (isMute() ? undefined : say(...said)));
  }
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
    isFolder,
    kind,
    onWaiting,
    onFlooded,
    onRenamed,
    onRead,
    fileBytes,
    onWritten,
    opens,
    flood,
  }: Answers & { flood: () => Promise<number> },
): void {
  let waiting = 0;
  const later = (answer: () => void) => {
    onWaiting(++waiting);
    void setImmediate().then(() => {
      waiting -= 1;
      answer();
    });
  };
  /** Open folders, and how often each was asked for names. */
  const folders: { readonly path: string; requests: number }[] = [];
  // It tells one spelling from another, so far it is honest.
  const made = new Set<string>();
  sftp.on('MKDIR', (id, path) => {
    made.add(path);
    sftp.status(id, STATUS.OK);
  });
  sftp.on('RMDIR', (id) => sftp.status(id, STATUS.OK));
  const look = (id: number, path: string) => (path === '/root/flood' ? void flood().then(onFlooded) : answer(id, path));
  const answer = (id: number, path: string) => later(() => sftp.attrs(id, attrsOf(isFolder(path) ? FOLDER : kind)));
  sftp.on('REALPATH', (id, path) => later(() => sftp.name(id, [{ filename: realpath(path), longname: '', attrs: attrsOf(FOLDER) }])));
  sftp.on('REMOVE', (id) => later(() => sftp.status(id, STATUS.OK)));
  const isTried = (path: string) => path.startsWith('/root/.wharf-tmp');
  sftp.on('STAT', look).on('LSTAT', (id, path) => (isTried(path) ? sftp.status(id, STATUS.NO_SUCH_FILE) : look(id, path)));
  const open = (id: number, path: string, handle: Buffer) =>
    opens !== undefined && !isTried(path) ? sftp.status(id, opens) : sftp.handle(id, handle);
  sftp.on('OPENDIR', (id, path) => open(id, path, Buffer.from(isTried(path) ? path : [folders.push({ path, requests: 0 }) - 1])));
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
    const folder = folders[handle[0] ?? 0] ?? { path: '', requests: 0 };
    const page = names(folder.requests, folder.path);
    folder.requests += 1;
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
