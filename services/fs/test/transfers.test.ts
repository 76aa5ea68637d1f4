import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { httpRequest, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { localDriver } from '../src/drivers/local/index.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

let installation: Installation;
let replica: Replica;
let login: string;

beforeAll(async () => {
  installation = await openInstallation();
  const folder = `${installation.dir}/files`;
  await mkdir(folder);
  await writeFile(`${folder}/file`, 'content');
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: folder }) });
  login = await installation.login({ id: 5, permission: 0b1000 });
  replica = await installation.open([localDriver], { maxTransfers: 2 });
});
afterAll(() => installation?.close());

const upload = (path: string) => ({
  method: 'PUT',
  path: '/api/fs/put',
  headers: { Authorization: login, 'File-Path': path },
  body: 'text',
});
const download = () => httpRequest(replica.url, { path: `/d/l/file?${installation.sign('/l/file')}` });

/** Begins an upload and sends nothing of it. */
async function idleUpload(path: string): Promise<Socket> {
  const { hostname, port } = new URL(replica.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`PUT /api/fs/put HTTP/1.1\r\nHost: x\r\nAuthorization: ${login}\r\nFile-Path: ${path}\r\nContent-Length: 10\r\n\r\n`);
  return socket;
}

it('more transfers than the process can carry are refused, and told when to come again', async () => {
  const idle = [await idleUpload('/l/one'), await idleUpload('/l/two')];
  const refused = await waitFor('the refusal', async () => {
    const answer = await download();
    return answer.status === 503 ? answer : undefined;
  });
  expect(refused.headers['retry-after']).toBe('10');
  const put = await httpRequest(replica.url, upload('/l/three'));
  expect([put.status, put.headers['retry-after'], put.json()]).toMatchObject([200, '10', { code: 503, data: null }]);

  idle[0]?.destroy();
  const served = await waitFor('room', async () => {
    const answer = await download();
    return answer.status === 200 ? answer : undefined;
  });
  expect(served.body.toString()).toBe('content');
  expect((await httpRequest(replica.url, upload('/l/three'))).json()).toMatchObject({ code: 200 });
  idle[1]?.destroy();
});
