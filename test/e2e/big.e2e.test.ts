import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { at, download, generateContent, startServices, startStandalone, upload } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorization, FORM_BOUNDARY, filePath, formFrame, rawPath, readEnvelope } from './support/files.ts';
import { memoryOfFamily } from './support/process-memory.ts';
import { openWorld, type World } from './support/world.ts';

const MIB = 1024 * 1024;
/** Size of the big file in MiB; smaller only in haste. */
const BIG_MIB = Number(process.env['WHARF_E2E_BIG_MIB'] ?? 2048);
/** Far from what is carried, and far enough from what it takes on a machine so busy that the collector comes late. */
const MAX_PEAK_MIB = 400;

/** 50,000 files: one wide folder, and many small ones. */
const WIDE = 20_000;
const FOLDERS = 30;
const FILES_PER_FOLDER = 1_000;

/** The content comes in chunks of 256 KiB, so that a quarter of whole MiB is made of whole chunks. */
const QUARTERS = 4;

const LIMIT_MS = 240_000;

function makeTree(root: string): void {
  const fill = (folder: string, files: number) => {
    mkdirSync(folder, { recursive: true });
    for (let index = 0; index < files; index++) writeFileSync(join(folder, `file ${String(index).padStart(5, '0')}.txt`), '');
  };
  fill(join(root, 'wide'), WIDE);
  for (let index = 0; index < FOLDERS; index++) fill(join(root, 'tree', `folder ${index}`), FILES_PER_FOLDER);
}

interface Digests {
  readonly whole: string;
  readonly quarters: readonly string[];
}

const known = new Map<number, Digests>();

/** Digests of the big content: whole, and of each quarter. */
function digestsOf(sizeBytes: number): Digests {
  const digests = known.get(sizeBytes) ?? describeQuarters(sizeBytes);
  known.set(sizeBytes, digests);
  return digests;
}

function describeQuarters(sizeBytes: number): Digests {
  const whole = createHash('sha256');
  const quarters = Array.from({ length: QUARTERS }, () => createHash('sha256'));
  let offset = 0;
  for (const chunk of generateContent('big', sizeBytes)) {
    whole.update(chunk);
    quarters[Math.floor((offset * QUARTERS) / sizeBytes)]?.update(chunk);
    offset += chunk.byteLength;
  }
  return { whole: whole.digest('hex'), quarters: quarters.map((hash) => hash.digest('hex')) };
}

describe.each([
  ['standalone', startStandalone, { put: BIG_MIB, form: BIG_MIB }],
  // The gateway passes on either body as it is; its framing is the business of fs, the same code in both shapes.
  ['five processes', startServices, { put: BIG_MIB, form: BIG_MIB / 8 }],
] as const)('%s with 50,000 files', (_, start, mebibytes) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld(start);
    makeTree(world.wharf.filesDir);
  }, LIMIT_MS);
  afterAll(() => world.close(), LIMIT_MS);

  const entriesOf = (listing: unknown): unknown[] => {
    const content = at(listing, 'content');
    return Array.isArray(content) ? content : [];
  };

  test('a folder of 20,000 files is listed whole and in pages', { timeout: LIMIT_MS }, async () => {
    const { admin } = world;
    const whole = await admin.call('/api/fs/list', { path: '/local/wide' });
    expect([at(whole, 'total'), entriesOf(whole).length]).toEqual([WIDE, WIDE]);
    const names = entriesOf(whole).map((entry) => at(entry, 'name'));
    const paged: unknown[] = [];
    for (let page = 1; page <= WIDE / 1000; page++)
      paged.push(
        ...entriesOf(await admin.call('/api/fs/list', { path: '/local/wide', page, per_page: 1000 })).map((entry) => at(entry, 'name')),
      );
    expect(paged).toEqual(names);
    expect(await admin.call('/api/fs/list', { path: '/local/wide', page: WIDE, per_page: 30 })).toMatchObject({ content: [], total: WIDE });
  });

  test('the whole tree is walked, several folders at once', { timeout: LIMIT_MS }, async () => {
    const { admin } = world;
    const folders = entriesOf(await admin.call('/api/fs/list', { path: '/local/tree' })).map((entry) => String(at(entry, 'name')));
    expect(folders).toHaveLength(FOLDERS);
    const totals = await Promise.all(
      folders.map(async (name) => at(await admin.call('/api/fs/list', { path: `/local/tree/${name}`, per_page: 100 }), 'total')),
    );
    expect(totals).toEqual(folders.map(() => FILES_PER_FOLDER));
  });

  test.each([
    ['put', mebibytes.put],
    ['form', mebibytes.form],
  ] as const)(
    'a big file goes in by %s (%i MiB) and comes out whole and in ranges, byte for byte',
    { timeout: LIMIT_MS },
    async (route, sizeMib) => {
      const { admin, base } = world;
      const size = sizeMib * MIB;
      const expected = digestsOf(size);
      const path = `/local/big by ${route}.bin`;
      const { head, tail } = route === 'form' ? formFrame() : { head: Buffer.alloc(0), tail: Buffer.alloc(0) };
      function* body() {
        yield head;
        yield* generateContent('big', size);
        yield tail;
      }
      const type = route === 'form' ? `multipart/form-data; boundary=${FORM_BOUNDARY}` : 'application/octet-stream';
      const headers = {
        ...authorization(admin),
        ...filePath(path),
        'content-type': type,
        'content-length': head.length + size + tail.length,
      };
      const answer = await upload(base, { path: `/api/fs/${route}`, headers, body: body(), idleTimeoutMs: LIMIT_MS });
      expect(readEnvelope(answer)).toMatchObject({ code: 200, data: { task: { state: 2, progress: 100 } } });
      expect(await admin.call('/api/fs/get', { path })).toMatchObject({ size });

      const link = await rawPath(admin, path);
      expect(await download(base, { path: link })).toMatchObject({ status: 200, sizeBytes: size, sha256: expected.whole });
      const step = size / QUARTERS;
      for (const [index, sha256] of expected.quarters.entries()) {
        const range = `bytes=${index * step}-${(index + 1) * step - 1}`;
        expect(await download(base, { path: link, headers: { range } }), range).toMatchObject({ status: 206, sizeBytes: step, sha256 });
      }
      expect(await admin.call('/api/fs/remove', { dir: '/local', names: [path.slice('/local/'.length)] })).toBeNull();
    },
  );

  test.runIf(process.platform === 'linux')(`no process ever took more than ${MAX_PEAK_MIB} MiB`, async () => {
    const family = await memoryOfFamily(world.wharf.pid);
    console.log(family.map(({ command, peakMib }) => `${peakMib} MiB ${command}`).join('\n'));
    expect(family.length).toBeGreaterThan(0);
    for (const { command, peakMib } of family) expect(peakMib, command).toBeLessThan(MAX_PEAK_MIB);
  });
});
