import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { httpRequest, isAvailable, isMissing, startSshServer, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, openInstallation, type Replica } from '../installation.ts';
import { uploadByTus, uploadInParts } from '../parts.ts';
import { itemsOf } from './open-sftp.ts';

const server = await startSshServer();
const MIB = 1024 * 1024;

describe.runIf(isAvailable('sshd', server))('an SFTP storage in fs', () => {
  if (isMissing(server)) return;
  let installation: Installation;
  let replica: Replica;
  beforeAll(async () => {
    installation = await openInstallation();
    const addition = JSON.stringify(itemsOf(server));
    await installation.writeStorage({ _id: 1, mount_path: '/server', driver: 'SFTP', addition });
    replica = await installation.open();
  });
  afterAll(async () => {
    await installation?.close();
    await server.stop();
  });

  it('takes an upload in parts, in any order, and one by tus', async () => {
    const login = await installation.login({ id: 6, permission: 0b1000 });
    const content = Buffer.alloc(2 * MIB + 5, 'parts of wharf');
    const upload = { url: replica.url, login, content };
    expect(await uploadInParts({ ...upload, path: '/server/b/parts' })).toBe(MIB);
    expect(content.equals(await readFile(join(server.folder, 'b', 'parts')))).toBe(true);
    await uploadByTus({ ...upload, path: '/server/b/tus' }, MIB + 1);
    expect(content.equals(await readFile(join(server.folder, 'b', 'tus')))).toBe(true);
    expect((await readdir(server.folder, { recursive: true })).filter((name) => name.includes('draft'))).toEqual([]);
  });

  it('takes an upload, gives a range, and is out of service with both fingerprints when its key changes', async () => {
    const login = await installation.login({ id: 5, permission: 0b1000 });
    const content = Buffer.alloc(300_000, 'wharf');
    const put = { method: 'PUT', path: '/api/fs/put', headers: { Authorization: login, 'File-Path': '/server/a/file' }, body: content };
    expect((await httpRequest(replica.url, put)).json()).toMatchObject({ code: 200 });
    expect(await readFile(join(server.folder, 'a', 'file'))).toEqual(content);
    const path = `/d/server/a/file?${installation.sign('/server/a/file')}`;
    const part = await httpRequest(replica.url, { path, headers: { Range: 'bytes=100000-100099' } });
    expect([part.status, part.body.equals(content.subarray(100_000, 100_100))]).toEqual([206, true]);

    const before = server.hostKeyFingerprint();
    await server.changeHostKey();
    const status = await waitFor('the status', async () => {
      await httpRequest(replica.url, { path });
      return replica.reports.find((report) => report.status.includes(server.hostKeyFingerprint()))?.status;
    });
    expect(status).toContain(before);
    expect(replica.log()).not.toContain(server.password);
  });
});
