import { readdir } from 'node:fs/promises';
import { isAvailable, isMissing, startSshServer, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sftpDriver } from '../src/drivers/sftp/index.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const server = await startSshServer();

describe.runIf(isAvailable('sshd', server))('admin/storage/test of a server by SFTP', () => {
  if (isMissing(server)) return;
  const additionOf = (items: Record<string, string> = {}) =>
    JSON.stringify({
      address: `${server.host}:${server.port}`,
      username: server.username,
      password: server.password,
      root_folder_path: server.rootPath,
      ...items,
    });
  let installation: Installation;
  let replica: Replica;
  beforeAll(async () => {
    installation = await openInstallation();
    await installation.writeStorage({ _id: 1, mount_path: '/off', driver: 'SFTP', addition: additionOf(), disabled: true });
    replica = await installation.open([sftpDriver]);
  });
  afterAll(async () => {
    await installation?.close();
    await server.stop();
  });
  const test = (addition: string) => replica.fs.testStorage({ driver: 'SFTP', addition, write: true }, installation.as());
  const allClosed = () => waitFor('the connections to end', async () => (await server.connections()) === 0);

  it('works, leaves no file and no connection, and pins no host key', async () => {
    const answer = await test(additionOf());
    expect(answer).toMatchObject({ works: true, error: '', left_behind: [] });
    expect(answer.steps.map(({ name }) => name)).toEqual(expect.arrayContaining(['open', 'list', 'write', 'stat', 'read', 'remove']));
    expect(await readdir(server.folder)).toEqual([]);
    expect(await replica.fs.testStorage({ id: 1 }, installation.as())).toMatchObject({ works: true });
    expect(replica.kept).toEqual([]);
    await allClosed();
  });

  it('says what is wrong without the password', async () => {
    const answers = [
      await test(additionOf({ password: 'hunter2-hunter2' })),
      await test(additionOf({ root_folder_path: '/missing' })),
      await test(additionOf({ address: `${server.host}:1` })),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ works: false, steps: [{ name: 'open', ok: false, error: answer.error }], operations: [] });
      expect(answer.error).not.toMatch(/^$|internal/);
      expect(JSON.stringify(answer)).not.toMatch(new RegExp(`hunter2|${server.password}`));
    }
    expect(new Set(answers.map(({ error }) => error)).size).toBe(3);
    await allClosed();
  });

  it('of one that does not answer ends with its caller, and its connection with it', async () => {
    await server.pause();
    try {
      const gone = new AbortController();
      const asked = replica.fs.testStorage({ driver: 'SFTP', addition: additionOf() }, { ...installation.as(), signal: gone.signal }).then(
        () => 'answered',
        () => 'ended',
      );
      await waitFor('the connection', async () => (await server.connections()) > 0);
      gone.abort();
      expect(await asked).toBe('ended');
    } finally {
      await server.resume();
    }
    await allClosed();
  });
});
