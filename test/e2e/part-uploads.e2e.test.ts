import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateContent, httpRequest, login, makeTempDir, startStandalone } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorization, filePath } from './support/files.ts';
import { beginParts, completeParts, missingParts, type PartUpload, sendPart } from './support/part-uploads.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { openWorld } from './support/world.ts';

const MIB = 1024 * 1024;
const FILE = Buffer.concat([...generateContent('in parts', 24 * MIB + 7)]);

describe('uploads in parts', async () => {
  const dataDir = await makeTempDir('part-uploads');
  const world = await openWorld(startStandalone, { dataDir: dataDir.path, env: { WHARF_SECRET: undefined } });
  afterAll(async () => {
    await world.close();
    await dataDir.remove();
  });
  const leftovers = async () => (await readdir(world.wharf.filesDir, { recursive: true })).filter((name) => name.includes('draft-'));

  test('go on after kill -9, and what was acknowledged is not sent again', async () => {
    const { admin, base } = world;
    const { path, disk } = await world.folder('killed');
    const upload = await beginParts(admin, base, `${path}/file.bin`, FILE.byteLength, MIB);
    const acknowledged = new Set<number>();
    const send = async (index: number) => {
      const { code } = await sendPart(admin, base, upload, FILE, index);
      if (code === 200) acknowledged.add(index);
    };
    for (let round = 0; round < 2; round += 1) {
      const missing = await missingParts(admin, base, upload);
      // Some are acknowledged, others are under way when it is killed.
      await Promise.all(missing.slice(0, 5).map(send));
      const underWay = missing.slice(5, 10).map((index) => send(index).catch(() => undefined));
      await Promise.race(underWay);
      await world.wharf.kill();
      await Promise.all(underWay);
      await world.wharf.restart();
      const left = await missingParts(admin, base, upload);
      for (const index of acknowledged) expect(left).not.toContain(index);
    }
    // A part that was under way belongs to the process that was killed until its claim runs out.
    for (const index of await missingParts(admin, base, upload)) await untilTaken(() => sendPart(admin, base, upload, FILE, index));
    expect(await completeParts(admin, base, upload)).toMatchObject({ code: 200, data: { state: 'completed' } });
    expect(FILE.equals(await readFile(join(disk, 'file.bin')))).toBe(true);
    expect(await leftovers()).toEqual([]);
  });

  test('by tus go on after kill -9 where they were durable', async () => {
    const { admin, base } = world;
    const { path, disk } = await world.folder('tus');
    const tus = { ...authorization(admin), 'tus-resumable': '1.0.0' };
    const begun = await httpRequest(base, {
      method: 'POST',
      path: '/api/fs/tus',
      headers: { ...tus, ...filePath(`${path}/file.bin`), 'upload-length': String(FILE.byteLength) },
    });
    const address = `/api/fs/${String(begun.headers['location'])}`;
    const append = (offset: number, bytes: Buffer) =>
      httpRequest(base, {
        method: 'PATCH',
        path: address,
        headers: { ...tus, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
        body: bytes,
      });
    expect((await append(0, FILE.subarray(0, 10 * MIB))).status).toBe(204);
    await world.wharf.kill();
    await world.wharf.restart();
    const head = await httpRequest(base, { method: 'HEAD', path: address, headers: tus });
    expect(head.headers['upload-offset']).toBe(String(10 * MIB));
    expect((await append(10 * MIB, FILE.subarray(10 * MIB))).status).toBe(204);
    expect(FILE.equals(await readFile(join(disk, 'file.bin')))).toBe(true);
    expect(await leftovers()).toEqual([]);
  });
});

describe('two gateways and two fs', () => {
  let replicas: Replicas;
  beforeAll(async () => {
    replicas = await startReplicas();
  });
  afterAll(() => replicas?.stop());

  test('take the parts of one upload in turns', async () => {
    const { first, second, adminPassword } = replicas;
    const folder = join(replicas.folder, 'shared');
    await mkdir(folder);
    const admin = await login(first, 'admin', adminPassword);
    await admin.call('/api/admin/storage/create', {
      ...{ mount_path: '/shared', driver: 'Local' },
      addition: JSON.stringify({ root_folder_path: folder, mkdir_perm: '777' }),
    });
    const upload: PartUpload = await beginParts(admin, first, '/shared/file.bin', FILE.byteLength, MIB);
    const indexes = Array.from({ length: upload.total }, (_, index) => index);
    const answers = await Promise.all(
      indexes.toReversed().map((index) => untilTaken(() => sendPart(admin, index % 2 === 0 ? second : first, upload, FILE, index))),
    );
    expect(answers.filter(({ code }) => code !== 200)).toEqual([]);
    expect(await Promise.all([completeParts(admin, first, upload), completeParts(admin, second, upload)])).toContainEqual(
      expect.objectContaining({ code: 200 }),
    );
    expect(FILE.equals(await readFile(join(folder, 'file.bin')))).toBe(true);
    expect((await readdir(folder, { recursive: true })).filter((name) => name.includes('draft-'))).toEqual([]);
  });
});

/** Sends again while another connection has the part, or the storage is not known yet. */
async function untilTaken<Sent extends { readonly code: number }>(send: () => Promise<Sent>): Promise<Sent> {
  for (let tries = 0; ; tries += 1) {
    const answer = await send();
    if (answer.code === 200 || tries === MAX_TRIES) return answer;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const MAX_TRIES = 60;
const RETRY_MS = 500;
