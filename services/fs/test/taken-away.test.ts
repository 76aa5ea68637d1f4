import { readdir } from 'node:fs/promises';
import { httpRequest, waitFor } from '@wharf/harness';
import { writeSessionModelOf } from '@wharf/models';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';
import { partCalls } from './parts.ts';

const WRITE = 0b1000;
const MIB = 1024 * 1024;
const HALF = Buffer.alloc(MIB, 'x');

let installation: Installation;
let one: Replica;
let folder: string;
/** Takes whole files only. */
const plain = createTestDriver('Plain', []);

/** From 40 on they upload to what takes whole files. */
const baseOf = (id: number) => (id >= 40 ? `/l/whole/u${id}` : `/l/u${id}`);
/** What may be taken away while an upload is under way, by a user's id, with the family's code and the status of tus. */
const TAKEN = {
  'the quota': [(id: number) => installation.writeUser({ id, quota_bytes: 1 }), 500, 413],
  'the right': [(id: number) => installation.writeUser({ id, permission: 0 }), 403, 403],
  'the place, by a rule': [
    async (id: number) =>
      installation.announce(await installation.writeRule({ _id: id, path: baseOf(id), write_users: [999], write_users_sub: true })),
    403,
    403,
  ],
} as const satisfies Record<string, readonly [(id: number) => Promise<unknown>, number, number]>;
const CASES = Object.keys(TAKEN) as (keyof typeof TAKEN)[];
const idOf = (what: keyof typeof TAKEN, from: number) => from + CASES.indexOf(what);
const logins = new Map<number, string>();

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  await installation.writeStorage({ _id: 2, mount_path: '/l/whole', driver: 'Plain' });
  for (const what of CASES)
    for (const from of [20, 30, 40]) {
      const id = idOf(what, from);
      logins.set(id, await installation.login({ id, permission: WRITE, base_path: baseOf(id), quota_bytes: 8 * MIB }));
    }
  one = await installation.open([localDriver, plain.definition], { dataDir: `${installation.dir}/data` });
});
afterAll(() => installation?.close());

const asOf = (id: number) => logins.get(id) ?? '';
const { init, begin, chunk, end } = partCalls(() => ({ as: '', at: one, size: 2 * MIB }));
const isOver = async (id: number) =>
  (await writeSessionModelOf(one.kit.store).countDocuments({ user_id: id, upload_state: 'receiving' })) === 0;
/** Takes it away and waits until the replica knows. */
const take = async (what: keyof typeof TAKEN, id: number) => {
  await TAKEN[what][0](id);
  await waitFor('the news', async () => {
    const { code, data } = await init('/probe', { as: asOf(id) }, MIB);
    if (code === 200) await end('abort', data.upload_id, { as: asOf(id) });
    return code !== 200;
  });
};

describe('what is taken away while an upload is under way', () => {
  it.each(CASES.flatMap((what) => [20, 40].map((from) => [what, from === 40 ? 'that waits here' : 'in parts', from] as const)))(
    '%s: an upload %s is refused at its end and leaves nothing',
    async (what, _how, from) => {
      const id = idOf(what, from);
      const as = asOf(id);
      const upload = await begin('/file', { as });
      expect(await chunk(upload, 0, HALF, { as })).toMatchObject({ code: 200 });
      await take(what, id);
      const late = await chunk(upload, 1, HALF, { as });
      const last = late.code === 200 ? await end('complete', upload, { as }) : late;
      expect(last).toMatchObject({ code: TAKEN[what][1], data: { state: 'failed_permanent' } });
      expect(await isOver(id)).toBe(true);
    },
  );

  it.each(CASES)('%s: an upload by tus is refused at its end and leaves nothing', async (what) => {
    const id = idOf(what, 30);
    const headers = { Authorization: asOf(id), 'Tus-Resumable': '1.0.0' };
    const send = (method: string, path: string, more: Record<string, string>, body: Buffer | '' = '') =>
      httpRequest(one.url, { method, path, headers: { ...headers, ...more }, body });
    const created = await send('POST', '/api/fs/tus', { 'File-Path': '/file', 'Upload-Length': `${2 * MIB}` });
    const path = `/api/fs/${String(created.headers['location'])}`;
    const patch = (offset: number) =>
      send('PATCH', path, { 'Upload-Offset': `${offset}`, 'Content-Type': 'application/offset+octet-stream' }, HALF);
    expect((await patch(0)).status).toBe(204);
    await take(what, id);
    expect((await patch(MIB)).status).toBe(TAKEN[what][2]);
    expect((await send('HEAD', path, {})).status).toBe(404);
    expect(await isOver(id)).toBe(true);
  });

  it('the account: uploads are refused, and go with the next sweep', async () => {
    const [inParts, waiting] = [idOf('the right', 50), idOf('the quota', 50)];
    for (const [id, base_path] of [
      [inParts, '/l/disabled'],
      [waiting, '/l/whole/disabled'],
    ] as const) {
      const as = await installation.login({ id, permission: WRITE, base_path });
      const upload = await begin('/file', { as });
      expect(await chunk(upload, 0, HALF, { as })).toMatchObject({ code: 200 });
      await installation.writeUser({ id, disabled: true });
      await waitFor('the news', async () => (await chunk(upload, 1, HALF, { as })).code === 401);
      expect(await end('complete', upload, { as })).toMatchObject({ code: 401 });
    }
    await installation.open([localDriver, plain.definition], { dataDir: `${installation.dir}/data` });
    await waitFor('the sweep', async () => (await isOver(inParts)) && (await isOver(waiting)), { withinMs: 30_000 });
  });

  it('nothing of them is left', async () => {
    const left = [folder, `${installation.dir}/data/spool`].map(async (place) => readdir(place, { recursive: true, withFileTypes: true }));
    const files = (await Promise.all(left)).flat().filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toEqual(['id']);
  });
});
