import { isAvailable, isMissing, type SshServer, startSshServer } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bytesOf, mpath, textOf } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const first = await startSshServer();

describe.runIf(isAvailable('sshd', first))('a login by SFTP', () => {
  let server: SshServer;
  beforeAll(() => {
    if (isMissing(first)) throw new Error(first.missing);
    server = first;
  });
  afterAll(() => server.stop());
  const begin = async (options: Parameters<typeof startSshServer>[0]): Promise<SshServer> => {
    const started = await startSshServer(options);
    if (isMissing(started)) throw new Error(started.missing);
    onTestFinished(() => started.stop());
    return started;
  };

  it.each([
    ['a password', () => ({ password: server.password })],
    ['a key', () => ({ private_key: server.privateKey })],
    ['a key without its last line end', () => ({ private_key: server.privateKey.trim() })],
    ['a key that a passphrase opens', () => ({ private_key: server.encryptedPrivateKey, passphrase: server.passphrase })],
    ['a password beside a key that the server does not know', () => ({ private_key: OTHER_KEY, password: server.password })],
  ])('works with %s', async (_way, items) => {
    const driver = await openSftp({ ...itemsOf(server), password: '', ...items() });
    expect((await driver.stat(MOUNT_ROOT)).isDirectory).toBe(true);
  });

  it.each([
    ['another password', () => ({ password: 'wrong' }), 'STORAGE_LOGIN_FAILED', /does not let keeper in/],
    ['nothing', () => ({ password: '' }), 'STORAGE_LOGIN_FAILED', /does not let keeper in/],
    ['another user', () => ({ username: 'nobody' }), 'STORAGE_LOGIN_FAILED', /does not let nobody in/],
    ['another passphrase', () => ({ private_key: server.encryptedPrivateKey, passphrase: 'wrong' }), 'INVALID_ARGUMENT', /private_key/],
    ['a text that is no key', () => ({ private_key: 'no key' }), 'INVALID_ARGUMENT', /private_key/],
    ['a root that is not there', () => ({ root_folder_path: '/none/here' }), 'FAILED_PRECONDITION', /root folder \/none\/here not exists/],
    ['a host key that is none', () => ({ host_key: 'yes' }), 'INVALID_ARGUMENT', /host_key/],
    ['a port where nobody listens', () => ({ address: '127.0.0.1:1' }), 'STORAGE_UNAVAILABLE', /127.0.0.1/],
    ['an address of metadata', () => ({ address: '169.254.169.254:22' }), 'PERMISSION_DENIED', /./],
  ])('is refused with %s, and leaves no connection', async (_way, items, code, text) => {
    const secrets = { ...itemsOf(server), ...items() };
    const [refusedWith, message] = await refusalOf(openSftp(secrets));
    expect([refusedWith, message]).toEqual([code, expect.stringMatching(text)]);
    expect(message).not.toContain(server.password);
    await expect.poll(() => server.connections()).toBe(0);
  });

  it('shuts in who is shut in, down to the root of the server', async () => {
    const jail = await begin({ chroot: true, authentication: 'key' });
    for (const root_folder_path of [jail.rootPath, '/']) {
      const driver = await openSftp({ ...itemsOf(jail), private_key: jail.privateKey, root_folder_path });
      const path = root_folder_path === '/' ? `${jail.rootPath}/a/b` : '/a/b';
      await driver.write(mpath(path), bytesOf(root_folder_path), { overwrite: true });
      expect(await textOf(await driver.read(mpath(path)))).toBe(root_folder_path);
      // Nothing can be made in the root of the server: whether drafts are kept is not tried then.
      const draft = await driver.openDraft(mpath(`${path}-1`), '0'.repeat(32), { create: true });
      await draft.write(0, bytesOf('parts'));
      expect(await draft.publish({ overwrite: false })).toMatchObject({ sizeBytes: 5 });
      expect((await driver.copy(mpath(path), mpath(`${path}-2`), { overwrite: true })).sizeBytes).toBe(root_folder_path.length);
      await driver.remove(mpath(path.replace('/b', '')), { recursive: true });
    }
  });
});

/** Of no server. Made for this test. */
const OTHER_KEY = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACBPlfDdZGvMOhzysxtYU80XW0dnZbDznrewjRchLACetgAAAIhAySEmQMkh
JgAAAAtzc2gtZWQyNTUxOQAAACBPlfDdZGvMOhzysxtYU80XW0dnZbDznrewjRchLACetg
AAAEB352cZLVGH02/iAVfpat0hYgww8h37Ncy9NfSDbleqxE+V8N1ka8w6HPKzG1hTzRdb
R2dlsPOet7CNFyEsAJ62AAAAAAECAwQF
-----END OPENSSH PRIVATE KEY-----
`;
