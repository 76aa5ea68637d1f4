import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand, startProcess } from './process.ts';
import { isAvailable, isMissing } from './required.ts';
import { type SshServer, type SshServerOptions, startSshServer } from './ssh-server.ts';
import { makeTempDir, type TempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

const first = await startSshServer();

/** What Debian's own client is told. */
interface Login {
  key?: string;
  password?: string;
}

describe.runIf(isAvailable('sshd', first))('OpenSSH', () => {
  let server: SshServer;
  let dir: TempDir;
  beforeAll(async () => {
    if (isMissing(first)) throw new Error(first.missing);
    server = first;
    dir = await makeTempDir('sftp');
  });
  afterAll(async () => {
    await server.stop();
    await server.stop();
    await dir.remove();
  });

  const begin = async (options: SshServerOptions): Promise<SshServer> => {
    const started = await startSshServer(options);
    if (isMissing(started)) throw new Error(started.missing);
    return started;
  };

  const clientArgs = async (to: SshServer, { key, password }: Login): Promise<{ args: string[]; env: NodeJS.ProcessEnv }> => {
    const [keyFile, asker] = [join(dir.path, 'key'), join(dir.path, 'asker')];
    await writeFile(keyFile, key ?? '', { mode: 0o600 });
    await writeFile(asker, `#!/bin/sh\necho "$ANSWER"\n`);
    await chmod(asker, 0o700);
    const settings = [
      ...['BatchMode=no', 'NumberOfPasswordPrompts=1', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null'],
      ...(key === undefined ? ['PubkeyAuthentication=no'] : [`IdentityFile=${keyFile}`, 'IdentitiesOnly=yes']),
      ...(password === undefined || key !== undefined ? ['PasswordAuthentication=no'] : []),
    ];
    return {
      args: ['-F', 'none', ...settings.flatMap((setting) => ['-o', setting]), '-P', String(to.port)],
      env: { PATH: process.env['PATH'], SSH_ASKPASS: asker, SSH_ASKPASS_REQUIRE: 'force', ANSWER: password },
    };
  };

  const sftp = async (to: SshServer, login: Login, commands: string) => {
    const { args, env } = await clientArgs(to, login);
    const batch = join(dir.path, 'batch');
    await writeFile(batch, commands);
    return runCommand('sftp', [...args, '-b', batch, `${to.username}@${to.host}`], { env });
  };

  it.each(['password', 'key', 'key with passphrase'])('lets the user in by %s and write to its folder', async (way) => {
    const login: Login = {
      password: { password: server.password },
      key: { key: server.privateKey },
      'key with passphrase': { key: server.encryptedPrivateKey, password: server.passphrase },
    }[way] as Login;
    await writeFile(join(dir.path, 'source'), way);
    const { code, stdout, stderr } = await sftp(server, login, `pwd\nput ${dir.path}/source "${way}"\n`);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Remote working directory: ${server.rootPath}`);
    expect(await readFile(join(server.folder, way), 'utf8')).toBe(way);
    expect((await stat(join(server.folder, way))).uid).toBe(server.uid);
  });

  it('refuses another password, and leaves the accounts of this machine alone', async () => {
    expect((await sftp(server, { password: 'wrong' }, 'pwd\n')).stderr).toContain('Permission denied');
    expect(await readFile('/etc/passwd', 'utf8')).not.toContain(`${server.username}:`);
    expect(await readFile('/etc/shadow', 'utf8')).not.toContain(`${server.username}:`);
  });

  it('shuts the user in, and asks for the key alone, where it is told so', async () => {
    const jail = await begin({ chroot: true, authentication: 'key' });
    try {
      await mkdir(join(jail.folder, 'inside'));
      const { stdout } = await sftp(jail, { key: jail.privateKey }, 'pwd\nls\nls /\n-ls /etc\n');
      expect(stdout).toContain(`Remote working directory: ${jail.rootPath}\n`);
      expect(stdout).toMatch(/^inside/m);
      expect(stdout).not.toContain('passwd');
      expect((await sftp(jail, { password: jail.password }, 'pwd\n')).stderr).toContain('Permission denied (publickey)');
    } finally {
      await jail.stop();
    }
    const other = await begin({ authentication: 'password' });
    try {
      expect((await sftp(other, { key: other.privateKey }, 'pwd\n')).stderr).toContain('Permission denied (password)');
    } finally {
      await other.stop();
    }
  });

  it('has the host key that it says, and another one on the same port when that is changed', async () => {
    const scan = async () => {
      const known = join(dir.path, 'scanned');
      await writeFile(known, (await runCommand('ssh-keyscan', ['-p', String(server.port), server.host])).stdout);
      return (await runCommand('ssh-keygen', ['-lf', known])).stdout.split(' ')[1];
    };
    const before = server.hostKeyFingerprint();
    expect(await scan()).toBe(before);
    await server.changeHostKey();
    expect(server.hostKeyFingerprint()).not.toBe(before);
    expect(await scan()).toBe(server.hostKeyFingerprint());
  });

  it('counts its connections, ends them with a restart, and says nothing while it is paused', async () => {
    await waitFor('earlier connections to end', async () => (await server.connections()) === 0);
    const greet = async () => {
      const socket = connect(server.port, server.host).setEncoding('utf8');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return { socket, greeting: once(socket, 'data').then(([text]) => String(text)), closed: once(socket, 'close') };
    };
    const one = await greet();
    expect(await one.greeting).toContain('SSH-2.0-OpenSSH');
    const { args, env } = await clientArgs(server, { key: server.privateKey });
    // A whole session, which is a process that leaves its group.
    const session = await startProcess({
      name: 'sftp',
      command: 'bash',
      args: ['-c', 'exec sftp "$@" < <(echo pwd; sleep 60)', 'bash', ...args, `${server.username}@${server.host}`],
      env,
      ready: { line: (line) => (line.includes('Remote working') ? true : undefined) },
    });
    expect(await server.connections()).toBe(2);

    await server.pause();
    const waiting = await greet();
    let answered = false;
    waiting.greeting.then(
      () => {
        answered = true;
      },
      () => undefined,
    );
    expect(await server.connections()).toBe(3);
    expect(answered).toBe(false);
    await server.resume();
    expect(await waiting.greeting).toContain('SSH-2.0-OpenSSH');

    await server.restart();
    await Promise.all([one.closed, waiting.closed]);
    expect(await server.connections()).toBe(0);
    await session.stop();
    expect((await sftp(server, { key: server.privateKey }, 'ls\n')).code).toBe(0);
  });

  it('runs beside others of its kind, and a paused one ends too', async () => {
    const others = await Promise.all([begin({}), begin({ chroot: true })]);
    await writeFile(join(others[0].folder, 'mine'), '');
    expect(await readdir(others[1].folder)).toEqual([]);
    await others[0].pause();
    await Promise.all(others.map((other) => other.stop()));
    for (const { port, host } of others) await expect(once(connect(port, host), 'connect')).rejects.toThrow('ECONNREFUSED');
  });
});
