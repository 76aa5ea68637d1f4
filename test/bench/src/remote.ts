import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { at, isMissing, login, upload } from '@wharf/harness';
import { alignColumns } from './align-columns.ts';
import type { Fixture } from './fixture.ts';
import { readUsage, resetPeaks } from './process-usage.ts';
import { type RemoteField, type RemoteKind, startRemoteField } from './remote-field.ts';
import type { WharfServer } from './wharf-server.ts';

/** One line: work in a storage on another server, by Wharf and by rclone. Of the rounds the medians. */
export interface RemoteResult {
  readonly title: string;
  readonly storage: string;
  /** Added for a question and its answer. */
  readonly latencyMs: number;
  readonly wharfMs: number;
  readonly wharfCpuMs: number;
  readonly rcloneMs: number | undefined;
  readonly rcloneCpuMs: number | undefined;
  readonly verdict: string;
}

interface Measured {
  readonly elapsedMs: number;
  readonly cpuMs: number;
}

/** What is measured, and what it is held to. */
interface RemoteCase {
  readonly title: string;
  wharf(): Promise<Measured>;
  rclone?(): Promise<Measured>;
  judge(wharfMs: number, rcloneMs: number | undefined): string;
}

const LATENCIES_MS = [0, 20];
/** Uploads at once whose memory is looked at, and what they may take above idle. */
const UPLOADS = 8;
const GROWTH_MIB = 150;
/** Downloads that stand still, and looks at another storage meanwhile. */
const STANDING = 64;
const LOOKS = 300;
const MIB = 1024 * 1024;

/** Works with Ceph RGW and OpenSSH, with and without latency, of the first of these servers. */
export async function measureRemote(wharfs: readonly WharfServer[], fixture: Fixture, rounds: number): Promise<RemoteResult[]> {
  const [wharf] = wharfs;
  if (wharf === undefined) return [];
  const field = await startRemoteField((UPLOADS + 4) * fixture.sizeBytes.big + 1024 * MIB);
  if (isMissing(field)) {
    console.error(`without storages on other servers: ${field.missing}`);
    return [];
  }
  try {
    const results: RemoteResult[] = [];
    for (const kind of field.kinds) {
      const place = await mount(wharf, kind);
      for (const latencyMs of LATENCIES_MS) {
        kind.proxy.latencyMs = latencyMs / 2;
        for (const each of comparedCases(place, field, kind, fixture)) results.push(await measureCase(each, kind, latencyMs, rounds));
      }
      kind.proxy.latencyMs = 0;
      results.push(await measureMemory(place, kind, fixture), await measureIsolation(place, kind));
    }
    return results;
  } finally {
    await field.stop();
  }
}

interface Place {
  readonly wharf: WharfServer;
  readonly path: string;
  call(route: string, input: object): Promise<unknown>;
}

async function mount(wharf: WharfServer, { name, addition }: RemoteKind): Promise<Place> {
  const admin = await login(wharf.base, 'admin', wharf.adminPassword);
  const path = `/bench-${name.toLowerCase()}`;
  const storage = { mount_path: path, driver: name, addition, cache_expiration: 30, web_proxy: true };
  await admin.call('/api/admin/storage/create', storage);
  return { wharf, path, call: (route, input) => admin.call(route, input) };
}

function comparedCases(place: Place, field: RemoteField, kind: RemoteKind, fixture: Fixture): RemoteCase[] {
  const big = join(fixture.filesDir, 'big.bin');
  const { rclone } = field;
  const asked = (args: readonly string[]) => rclone && { rclone: () => rclone(kind, args) };
  const folder = (name: string) => `${kind.rclonePath}/${name}`;
  const atLeast = (share: number) => (own: number, other: number | undefined) =>
    other === undefined ? '' : `${(other / own).toFixed(2)} of rclone, >= ${share}: ${other / own >= share ? 'ok' : 'under'}`;
  const files = Array.from({ length: Math.min(1_000, fixture.entries.many) }, (_, index) => index);
  const put = (name: string, path: string) => putFile(place, name, path);
  return [
    {
      title: `write ${fixture.sizeBytes.big / MIB} MiB`,
      wharf: () => timed(place, () => put('wharf/big.bin', big)),
      ...asked(['copyto', big, folder('rclone/big.bin'), '--ignore-times']),
      judge: atLeast(0.8),
    },
    {
      title: `read ${fixture.sizeBytes.big / MIB} MiB`,
      wharf: () => timed(place, () => get(place, 'wharf/big.bin')),
      ...asked(['cat', folder('rclone/big.bin')]),
      judge: atLeast(0.8),
    },
    {
      title: `write ${files.length} files of ${fixture.sizeBytes.each / 1024} KiB, 8 at a time`,
      wharf: () =>
        timed(place, () =>
          inParallel(files, 8, (index) => put(`wharf/many/${index}.jpg`, join(fixture.filesDir, 'many', manyName(index)))),
        ),
      ...asked(['copy', join(fixture.filesDir, 'many'), folder('rclone/many'), '--transfers', '8', '--ignore-times', '--no-traverse']),
      judge: atLeast(0.8),
    },
    {
      title: `first listing of ${files.length}`,
      wharf: () => timed(place, () => list(place, 'wharf/many', true)),
      ...asked(['lsf', '--format', 'ps', folder('rclone/many')]),
      judge: (own, other) =>
        other === undefined ? '' : `${(own / other).toFixed(2)} times rclone, <= 1.5: ${own <= 1.5 * other ? 'ok' : 'over'}`,
    },
    {
      title: 'second listing',
      wharf: () => timed(place, () => list(place, 'wharf/many', false)),
      judge: (own) => `<= 10 ms: ${own <= 10 ? 'ok' : 'over'}`,
    },
  ];
}

async function measureCase(each: RemoteCase, kind: RemoteKind, latencyMs: number, rounds: number): Promise<RemoteResult> {
  const [wharf, rclone]: Measured[][] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    wharf?.push(await each.wharf());
    if (each.rclone) rclone?.push(await each.rclone());
  }
  const own = medianOf(wharf ?? []);
  const other = each.rclone && medianOf(rclone ?? []);
  console.error(
    `${kind.name}, ${latencyMs} ms, ${each.title}: ${Math.round(own.elapsedMs)} ms, rclone ${Math.round(other?.elapsedMs ?? Number.NaN)} ms`,
  );
  return {
    title: each.title,
    storage: kind.name,
    latencyMs,
    wharfMs: own.elapsedMs,
    wharfCpuMs: own.cpuMs,
    rcloneMs: other?.elapsedMs,
    rcloneCpuMs: other?.cpuMs,
    verdict: each.judge(own.elapsedMs, other?.elapsedMs),
  };
}

async function measureMemory(place: Place, kind: RemoteKind, fixture: Fixture): Promise<RemoteResult> {
  const pids = place.wharf.pids();
  const idle = readUsage(pids).residentBytes;
  resetPeaks(pids);
  const big = join(fixture.filesDir, 'big.bin');
  const { elapsedMs, cpuMs } = await timed(place, () =>
    inParallel(
      Array.from({ length: UPLOADS }, (_, index) => index),
      UPLOADS,
      (index) => putFile(place, `wharf/at-once/${index}.bin`, big),
    ),
  );
  const grownMib = Math.round((readUsage(pids).peakBytes - idle) / MIB);
  await place.call('/api/fs/remove', { dir: `${place.path}/wharf`, names: ['at-once'] });
  return {
    ...{ title: `${UPLOADS} uploads of ${fixture.sizeBytes.big / MIB} MiB at once`, storage: kind.name, latencyMs: 0 },
    ...{ wharfMs: elapsedMs, wharfCpuMs: cpuMs, rcloneMs: undefined, rcloneCpuMs: undefined },
    verdict: `${grownMib} MiB above idle, <= ${GROWTH_MIB}: ${grownMib <= GROWTH_MIB ? 'ok' : 'over'}`,
  };
}

/** Looks at a local folder, with nothing else and while downloads from this storage stand still. */
async function measureIsolation(place: Place, kind: RemoteKind): Promise<RemoteResult> {
  const looks = async () => {
    const waits: number[] = [];
    for (let look = 0; look < LOOKS; look += 1) {
      const startedAt = performance.now();
      await place.call('/api/fs/list', { path: '/local/small', per_page: 0, refresh: true });
      waits.push(performance.now() - startedAt);
    }
    return waits.sort((one, other) => one - other)[Math.ceil(LOOKS * 0.99) - 1] ?? Number.NaN;
  };
  await looks();
  const idleMs = await looks();
  const link = new URL(await place.wharf.linkTo(`${place.path}/wharf/big.bin`), place.wharf.base);
  const leave = new AbortController();
  const standing = Array.from({ length: STANDING }, async () => {
    const answer = await fetch(link, { signal: leave.signal });
    await answer.body?.getReader().read();
  });
  await Promise.allSettled(standing.slice(0, STANDING / 2));
  kind.proxy.stall();
  const stalled = await timed(place, looks);
  const besideMs = stalled.result;
  leave.abort();
  await Promise.allSettled(standing);
  await kind.proxy.resume();
  return {
    ...{ title: `p99 of a local listing while ${STANDING} downloads stand still`, storage: kind.name, latencyMs: 0 },
    ...{ wharfMs: besideMs, wharfCpuMs: stalled.cpuMs / LOOKS, rcloneMs: undefined, rcloneCpuMs: undefined },
    verdict: `${idleMs.toFixed(1)} ms alone, <= 2 times: ${besideMs <= 2 * idleMs ? 'ok' : 'over'}`,
  };
}

async function timed<Result>({ wharf }: Place, run: () => Promise<Result>): Promise<Measured & { result: Result }> {
  const before = readUsage(wharf.pids()).cpuMs;
  const startedAt = performance.now();
  const result = await run();
  return { result, elapsedMs: performance.now() - startedAt, cpuMs: readUsage(wharf.pids()).cpuMs - before };
}

async function putFile({ wharf, path }: Place, name: string, file: string): Promise<void> {
  const answer = await upload(wharf.base, {
    method: 'PUT',
    path: '/api/fs/put',
    headers: { Authorization: wharf.token, 'File-Path': encodeURIComponent(`${path}/${name}`) },
    body: createReadStream(file, { highWaterMark: MIB }),
  });
  if (at(answer.json(), 'code') !== 200) throw new Error(`${name}: ${answer.text()}`);
}

async function get({ wharf, path }: Place, name: string): Promise<void> {
  const answer = await fetch(new URL(await wharf.linkTo(`${path}/${name}`), wharf.base));
  for await (const _ of answer.body ?? []);
}

async function list({ call, path }: Place, folder: string, refresh: boolean): Promise<void> {
  await call('/api/fs/list', { path: `${path}/${folder}`, per_page: 0, refresh });
}

function manyName(index: number): string {
  return `holiday picture ${String(index + 1).padStart(6, '0')}.jpg`;
}

async function inParallel<Item>(items: readonly Item[], count: number, run: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (const item of left) await run(item);
    }),
  );
}

function medianOf(measured: readonly Measured[]): Measured {
  const sorted = [...measured].sort((one, other) => one.elapsedMs - other.elapsedMs);
  return sorted[Math.floor(sorted.length / 2)] ?? { elapsedMs: Number.NaN, cpuMs: Number.NaN };
}

export function formatRemote(results: readonly RemoteResult[]): string {
  const shown = (value: number | undefined) => (value === undefined ? '' : value.toFixed(value < 100 ? 1 : 0));
  const rows = results.map((each) => [
    each.title,
    each.storage,
    String(each.latencyMs),
    ...[each.wharfMs, each.wharfCpuMs, each.rcloneMs, each.rcloneCpuMs].map(shown),
    each.verdict,
  ]);
  return alignColumns([['remote', 'storage', 'latency ms', 'wharf ms', 'CPU ms', 'rclone ms', 'CPU ms', 'budget'], ...rows]);
}
