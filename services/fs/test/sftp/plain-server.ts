import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { posix } from 'node:path';
import ssh2, { type SFTPWrapper } from 'ssh2';
import { onTestFinished } from 'vitest';
import { itemsOf } from './open-sftp.ts';

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
const STATUS = ssh2.utils.sftp.STATUS_CODE;
const OPEN = ssh2.utils.sftp.OPEN_MODE;
const POSIX_RENAME = 'posix-rename@openssh.com';

/** What becomes of a request to give something another name: it is refused, or the connection ends before or behind it, or it is said to be done. */
type Fate = 'refused' | 'cut' | 'done and cut' | 'pretended' | undefined;

interface Told {
  /** Asked of each request to give something another name. */
  readonly fate: (from: string, to: string) => Fate;
  /** It can replace what has a name, but makes no second names. */
  readonly replaces: boolean;
}

/**
 * An SFTP server with its files in memory, which lets everybody in and has none of OpenSSH's extensions, so that it renames to free names alone. It ends with
 * its test.
 */
export async function startPlainServer(given: Partial<Told>): Promise<{ items: Record<string, unknown>; files: Map<string, string> }> {
  const told: Told = { fate: () => undefined, replaces: false, ...given };
  const files = new Map<string, string>();
  const folders = new Set(['/root']);
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => undefined).on('authentication', (login) => login.accept());
    if (told.replaces) announceReplacing(client);
    client.on('session', (accept) => accept().on('sftp', (open) => serve(open(), { ...told, files, folders, cut: () => client.end() })));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { items: itemsOf({ host: '127.0.0.1', port, username: 'keeper', password: 'x', rootPath: '/root' }), files };
}

/** The library's server announces no extension. */
function announceReplacing(client: ssh2.Connection): void {
  const protocol = Reflect.get(client, '_protocol') as { channelData(id: number, data: Buffer): void };
  const send = protocol.channelData.bind(protocol);
  const text = (value: string) => Buffer.concat([Buffer.from([0, 0, 0, value.length]), Buffer.from(value)]);
  const body = Buffer.concat([Buffer.from([2, 0, 0, 0, 3]), text(POSIX_RENAME), text('1')]);
  protocol.channelData = (id, data) => {
    const isVersion = data.byteLength === 9 && data[4] === 2;
    send(id, isVersion ? Buffer.concat([Buffer.from([0, 0, 0, body.byteLength]), body]) : data);
  };
}

interface World extends Told {
  readonly files: Map<string, string>;
  readonly folders: Set<string>;
  readonly cut: () => void;
}

function serve(sftp: SFTPWrapper, { files, folders, fate, cut }: World): void {
  const attrsAt = (path: string) => {
    const content = files.get(path);
    if (content === undefined && !folders.has(path)) return undefined;
    return { mode: content === undefined ? 0o040755 : 0o100644, size: content?.length ?? 0, uid: 0, gid: 0, atime: 0, mtime: 0 };
  };
  const say = (id: number, isDone: boolean) => sftp.status(id, isDone ? STATUS.OK : STATUS.FAILURE);
  const look = (id: number, path: string) => {
    const attrs = attrsAt(path);
    if (attrs) sftp.attrs(id, attrs);
    else sftp.status(id, STATUS.NO_SUCH_FILE);
  };
  const rename = (id: number, from: string, to: string, replaces: boolean) => {
    const what = fate(from, to);
    const content = files.get(from);
    if (what === 'cut') return cut();
    if (what === 'pretended') return say(id, true);
    if (what === 'refused' || content === undefined || (attrsAt(to) && !replaces)) return say(id, false);
    files.delete(from);
    files.set(to, content);
    if (what === undefined) say(id, true);
    else cut();
  };
  const listed = new Set<string>();
  sftp.on('REALPATH', (id, path) => sftp.name(id, [{ filename: path, longname: '', attrs: {} as never }]));
  sftp.on('STAT', look).on('LSTAT', look);
  sftp.on('OPENDIR', (id, path) => {
    listed.delete(path);
    sftp.handle(id, Buffer.from(path));
  });
  sftp.on('READDIR', (id, handle) => {
    const path = String(handle);
    const inside = [...files.keys(), ...folders].filter((one) => one !== path && posix.dirname(one) === path);
    if (listed.has(path) || inside.length === 0) return void sftp.status(id, STATUS.EOF);
    listed.add(path);
    sftp.name(
      id,
      inside.map((one) => ({ filename: posix.basename(one), longname: '', attrs: attrsAt(one) as never })),
    );
  });
  sftp.on('OPEN', (id, path, flags) => {
    if ((flags & OPEN.EXCL) !== 0 && attrsAt(path)) return void say(id, false);
    if ((flags & OPEN.CREAT) !== 0) files.set(path, '');
    sftp.handle(id, Buffer.from(path));
  });
  sftp.on('WRITE', (id, handle, _offset, data) => {
    files.set(String(handle), `${files.get(String(handle))}${data}`);
    say(id, true);
  });
  sftp.on('FSTAT', (id, handle) => look(id, String(handle)));
  sftp.on('FSETSTAT', (id) => say(id, true)).on('CLOSE', (id) => say(id, true));
  sftp.on('MKDIR', (id, path) => say(id, folders.size < folders.add(path).size));
  sftp.on('RMDIR', (id, path) => say(id, folders.delete(path)));
  sftp.on('REMOVE', (id, path) => say(id, files.delete(path)));
  sftp.on('RENAME', (id, from, to) => rename(id, from, to, false));
  sftp.on('EXTENDED', (id, name, data) => {
    if (name !== POSIX_RENAME) return void sftp.status(id, STATUS.OP_UNSUPPORTED);
    const fromBytes = data.readUInt32BE(0);
    rename(id, String(data.subarray(4, 4 + fromBytes)), String(data.subarray(8 + fromBytes)), true);
  });
}
