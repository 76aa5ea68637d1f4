import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { httpRequest, waitFor } from '@wharf/harness';
import { callHeaders } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { localDriver } from '../src/drivers/local/index.ts';
import { type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
  const folder = `${installation.dir}/files`;
  await mkdir(folder);
  await writeFile(`${folder}/file`, 'content');
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: folder }) });
  replica = await installation.open([localDriver], { maxTransfers: 4 });
});
afterAll(() => installation?.close());

/** What a gateway says of a request of a user. */
const sentBy = (id: number) =>
  callHeaders(replica.kit.tokens, {
    ...{ identity: { ...USER, id }, requestId: 'test', revisions: { auth: 0, admin: 0 } },
    ...{ address: '192.0.2.1', siteUrl: 'http://wharf.test' },
  });
const upload = (id: number, path: string) =>
  httpRequest(replica.url, { method: 'PUT', path: '/api/fs/put', headers: { ...sentBy(id), 'File-Path': path }, body: 'text' });
const download = () => httpRequest(replica.url, { path: `/d/l/file?${installation.sign('/l/file')}` });

/** Begins an upload and sends nothing of it. */
async function idleUpload(id: number, path: string): Promise<Socket> {
  const { hostname, port } = new URL(replica.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const headers = Object.entries({ Host: 'x', ...sentBy(id), 'File-Path': path, 'Content-Length': '10' });
  socket.write(`PUT /api/fs/put HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  return socket;
}
const until = <Answer extends { status: number }>(what: string, status: number, ask: () => Promise<Answer>) =>
  waitFor(what, async () => {
    const answer = await ask();
    return answer.status === status ? answer : undefined;
  });

it('more transfers than the process can carry are refused, and told when to come again', async () => {
  const idle = await Promise.all([5, 5, 6, 6].map((id, index) => idleUpload(id, `/l/idle-${index}`)));
  const refused = await until('the refusal', 503, download);
  expect(refused.headers['retry-after']).toBe('10');
  const put = await upload(7, '/l/three');
  expect([put.status, put.headers['retry-after'], put.json()]).toMatchObject([200, '10', { code: 503, data: null }]);

  idle[0]?.destroy();
  const served = await until('room', 200, download);
  expect(served.body.toString()).toBe('content');
  expect((await upload(7, '/l/three')).json()).toMatchObject({ code: 200 });
  for (const socket of idle) socket.destroy();
});

it('uploads of one user that stand still leave room for the transfers of others', async () => {
  const idle = await Promise.all([0, 1, 2, 3, 4].map((index) => idleUpload(8, `/l/own-${index}`)));
  await waitFor('the refusal', async () => Reflect.get(Object((await upload(8, '/l/mine')).json()), 'code') === 503);
  expect((await upload(9, '/l/other')).json()).toMatchObject({ code: 200 });
  expect((await download()).status).toBe(200);
  for (const socket of idle) socket.destroy();
});
