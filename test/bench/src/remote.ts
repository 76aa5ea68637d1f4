import { join } from 'node:path';
import { at, login } from '@wharf/harness';
import { alignColumns } from './align-columns.ts';
import { type Fixture, makeFolder } from './fixture.ts';
import type { LoadGenerator, LoadRequest, LoadResult } from './load.ts';
import { type Pinger, startPinger } from './pinger.ts';
import { readUsage, resetPeaks } from './process-usage.ts';
import { type RemoteField, startRemoteField } from './remote-field.ts';
import { mountOf, type RemoteKind, type RemoteName } from './remote-kinds.ts';
import type { WharfServer } from './wharf-server.ts';

/** One line: work in a storage on another server, by Wharf and by rclone. Of the rounds the medians. */
export interface RemoteResult {
  readonly title: string;
  readonly work: RemoteWork;
  readonly storage: RemoteName;
  /** What stands behind it, for people. */
  readonly server: string;
  /** Bytes or entries that it was about; of what is no amount, 0. */
  readonly amount: number;
  /** Added for a question and its answer. */
  readonly latencyMs: number;
  readonly wharfMs: number;
  readonly wharfCpuMs: number;
  readonly rcloneMs: number | undefined;
  readonly rcloneCpuMs: number | undefined;
  /** How often the server was asked and waited for; where work goes on at once this is less than its calls. */
  readonly wharfQuestions: number | undefined;
  readonly rcloneQuestions: number | undefined;
  readonly rcloneVersion: string;
  /** Of a listing: how long a ping waited at most beside it. Of isolation: what a look takes with nothing else. */
  readonly besideMs: number | undefined;
  readonly verdict: string;
}

export type RemoteWork =
  | 'write big'
  | 'read big'
  | 'write many'
  | 'first listing'
  | 'second listing'
  | 'get'
  | 'range'
  | 'memory'
  | 'isolation';

interface Measured {
  readonly elapsedMs: number;
  readonly cpuMs: number;
  readonly questions?: number;
  readonly pingMs?: number;
}

/** What is measured, and what it is held to. */
interface RemoteCase {
  readonly title: string;
  readonly work: RemoteWork;
  readonly amount: number;
  wharf(): Promise<Measured>;
  rclone?(): Promise<Measured>;
  judge(wharf: Measured, rcloneMs: number | undefined): string;
}

const LATENCIES_MS = [0, 20];
/** Small files that are written, and their names in the fixture, which may have more of them. */
const MANY = 1_000;
const MANY_NAMES = '/holiday picture 00{0???,1000}.jpg';
/** Of them that are written at a time, and connections that their client keeps for that. */
const AT_A_TIME = 8;
const WITHIN_MS = 600_000;
/** Entries of the folder that is listed, and what is in each where they are put there by us. */
const CROWD = 10_000;
const CROWD_BYTES = 16;
/** What anybody else may wait beside a listing, in milliseconds, and how often a server is asked for what is known already. */
const BESIDE_MS = 50;
const SECOND_MS = 10;
const MOST_QUESTIONS = 1;
/** Uploads at once whose memory is looked at, and what they may take above idle. */
const UPLOADS = 8;
const GROWTH_MIB = 150;
/** Downloads that stand still, and looks at another storage meanwhile. */
const STANDING = 64;
const LOOKS = 300;
const MIB = 1024 * 1024;

/**
 * Works with storages on other servers, with and without latency, of the first of these Wharfs.
 *
 * @param save gets the results of each storage as soon as they are there: what is cut short afterwards keeps them
 */
export async function measureRemote(
  wharfs: readonly WharfServer[],
  fixture: Fixture,
  generator: LoadGenerator,
  rounds: number,
  names: readonly RemoteName[],
  save: (results: readonly RemoteResult[]) => Promise<void>,
): Promise<RemoteResult[]> {
  const [wharf] = wharfs;
  if (wharf === undefined) return [];
  const results: RemoteResult[] = [];
  for (const name of names) {
    const field = await startRemoteField(name, (UPLOADS + 4) * fixture.sizeBytes.big + 1024 * MIB);
    if (field === undefined) continue;
    try {
      const own = await measureField(wharf, field, fixture, generator, rounds);
      await save(own);
      results.push(...own);
    } finally {
      await field.kind.stop();
    }
  }
  return results;
}

async function measureField(
  wharf: WharfServer,
  field: RemoteField,
  fixture: Fixture,
  generator: LoadGenerator,
  rounds: number,
): Promise<RemoteResult[]> {
  const { kind } = field;
  const place = await mount(wharf, generator, kind);
  const pinger = startPinger(wharf.base);
  const results: RemoteResult[] = [];
  if (kind.folder === undefined) await putFiles(place, 'crowd/{n}.jpg', CROWD, CROWD_BYTES);
  else await makeFolder(join(kind.folder, 'crowd'), CROWD);
  try {
    for (const latencyMs of LATENCIES_MS) {
      kind.proxy.latencyMs = latencyMs / 2;
      for (const each of comparedCases(place, field, fixture, pinger)) results.push(await measureCase(each, field, latencyMs, rounds));
    }
  } finally {
    await pinger.stop();
  }
  kind.proxy.latencyMs = 0;
  results.push(await measureMemory(place, field, fixture), await measureIsolation(place, field));
  await place.unmount();
  return results;
}

interface Place {
  readonly wharf: WharfServer;
  readonly path: string;
  /** Clients on a thread of their own: this one is the server's network. */
  send(
    request: Omit<LoadRequest, 'expect'> & Partial<Pick<LoadRequest, 'expect'>>,
    requests?: number,
    connections?: number,
  ): Promise<LoadResult>;
  call(route: string, input: object): Promise<unknown>;
  unmount(): Promise<void>;
}

async function mount(wharf: WharfServer, generator: LoadGenerator, { name, addition, below }: RemoteKind): Promise<Place> {
  const lower = below && (await mount(wharf, generator, below));
  const admin = await login(wharf.base, 'admin', wharf.adminPassword);
  const path = mountOf(name);
  const storage = { mount_path: path, driver: name, addition: JSON.stringify(addition), cache_expiration: 30, web_proxy: true };
  const id = at(await admin.call('/api/admin/storage/create', storage), 'id');
  return {
    ...{ wharf, path, call: (route, input) => admin.call(route, input) },
    async send(request, requests = 1, connections = 1) {
      const expect = { prefix: '{"code":200,' };
      const result = await generator.run({ base: wharf.base, expect, ...request, requests, connections, limitMs: WITHIN_MS });
      if (result.failure !== undefined) throw new Error(result.failure);
      return result;
    },
    async unmount() {
      await admin.call(`/api/admin/storage/delete?id=${id}`, {});
      await lower?.unmount();
    },
  };
}

const atLeast =
  (share: number): RemoteCase['judge'] =>
  ({ elapsedMs: own }, other) =>
    other === undefined ? '' : `${(other / own).toFixed(2)} of rclone, >= ${share}: ${other / own >= share ? 'ok' : 'under'}`;

const judgeFirst: RemoteCase['judge'] = ({ elapsedMs, pingMs = 0 }, other) => {
  const verdict = `others wait ${Math.round(pingMs)} ms, <= ${BESIDE_MS}: ${pingMs <= BESIDE_MS ? 'ok' : 'over'}`;
  if (other === undefined) return verdict;
  return `${(elapsedMs / other).toFixed(2)} times rclone, <= 1.5: ${elapsedMs <= 1.5 * other ? 'ok' : 'over'}; ${verdict}`;
};

const judgeKnown: RemoteCase['judge'] = ({ questions = 0 }) =>
  `asked ${questions}, <= ${MOST_QUESTIONS}: ${questions <= MOST_QUESTIONS ? 'ok' : 'over'}`;

function comparedCases(place: Place, { kind, rclone }: RemoteField, fixture: Fixture, pinger: Pinger): RemoteCase[] {
  const big = join(fixture.filesDir, 'big.bin');
  const bytes = fixture.sizeBytes.big;
  const asked = (args: readonly string[]) => rclone && { rclone: () => counted(kind, () => rclone(args)) };
  const own = (run: () => Promise<unknown>) => () => counted(kind, () => timed(place, run));
  const folder = (name: string) => `${kind.rclonePath}${kind.rclonePath.endsWith(':') ? '' : '/'}${name}`;
  const files = Math.min(MANY, fixture.entries.many);
  const listBeside = async () => {
    await pinger.longestMs();
    const measured = await counted(kind, () => timed(place, () => list(place, 'crowd', true)));
    return { ...measured, pingMs: await pinger.longestMs() };
  };
  return [
    {
      ...{ work: 'write big', title: `write ${bytes / MIB} MiB`, amount: bytes },
      wharf: own(() => putFiles(place, 'wharf/big.bin', 1, bytes)),
      ...asked(['copyto', big, folder('rclone/big.bin'), '--ignore-times']),
      judge: atLeast(0.8),
    },
    {
      ...{ work: 'read big', title: `read ${bytes / MIB} MiB`, amount: bytes },
      wharf: own(() => read(place, 'wharf/big.bin', bytes)),
      ...asked(['cat', folder('rclone/big.bin')]),
      judge: atLeast(0.8),
    },
    {
      ...{ work: 'write many', title: `write ${files} files of ${fixture.sizeBytes.each / 1024} KiB, ${AT_A_TIME} at a time` },
      amount: files,
      wharf: own(() => putFiles(place, 'wharf/many/{n}.jpg', files, fixture.sizeBytes.each)),
      ...asked([
        ...['copy', join(fixture.filesDir, 'many'), folder('rclone/many'), '--include', MANY_NAMES],
        ...['--transfers', String(AT_A_TIME), '--ignore-times', '--no-traverse'],
      ]),
      judge: atLeast(0.8),
    },
    {
      ...{ work: 'first listing', title: `first listing of ${CROWD}`, amount: CROWD },
      wharf: listBeside,
      ...asked(['lsf', '--format', 'ps', folder('crowd')]),
      judge: judgeFirst,
    },
    {
      ...{ work: 'second listing', title: 'second listing', amount: CROWD },
      wharf: own(() => list(place, 'crowd', false)),
      judge: ({ elapsedMs }) => `<= ${SECOND_MS} ms: ${elapsedMs <= SECOND_MS ? 'ok' : 'over'}`,
    },
    {
      ...{ work: 'get', title: 'get of a file', amount: 1 },
      wharf: own(() => ask(place, '/api/fs/get', { path: `${place.path}/wharf/big.bin` })),
      judge: judgeKnown,
    },
    {
      ...{ work: 'range', title: 'range of 1 MiB', amount: 1 },
      wharf: own(() => read(place, 'wharf/big.bin', MIB, 2 * MIB)),
      judge: judgeKnown,
    },
  ];
}

async function counted({ proxy }: RemoteKind, run: () => Promise<Measured>): Promise<Measured> {
  const before = proxy.questions();
  const { elapsedMs, cpuMs } = await run();
  return { elapsedMs, cpuMs, questions: proxy.questions() - before };
}

async function measureCase(each: RemoteCase, field: RemoteField, latencyMs: number, rounds: number): Promise<RemoteResult> {
  const { kind, rcloneVersion } = field;
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
    ...{ title: each.title, work: each.work, amount: each.amount, storage: kind.name, server: kind.server, latencyMs },
    ...{ wharfMs: own.elapsedMs, wharfCpuMs: own.cpuMs, wharfQuestions: own.questions },
    ...{ rcloneMs: other?.elapsedMs, rcloneCpuMs: other?.cpuMs, rcloneQuestions: other?.questions, rcloneVersion },
    besideMs: own.pingMs,
    verdict: each.judge(own, other?.elapsedMs),
  };
}

async function measureMemory(place: Place, field: RemoteField, fixture: Fixture): Promise<RemoteResult> {
  const pids = place.wharf.pids();
  const idle = readUsage(pids).residentBytes;
  resetPeaks(pids);
  const { elapsedMs, cpuMs } = await timed(place, () => putFiles(place, 'wharf/at-once/{n}.bin', UPLOADS, fixture.sizeBytes.big));
  const grownMib = Math.round((readUsage(pids).peakBytes - idle) / MIB);
  await place.call('/api/fs/remove', { dir: `${place.path}/wharf`, names: ['at-once'] });
  return {
    ...alone(field, 'memory', `${UPLOADS} uploads of ${fixture.sizeBytes.big / MIB} MiB at once`, grownMib),
    ...{ wharfMs: elapsedMs, wharfCpuMs: cpuMs },
    verdict: `${grownMib} MiB above idle, <= ${GROWTH_MIB}: ${grownMib <= GROWTH_MIB ? 'ok' : 'over'}`,
  };
}

/** Looks at a local folder, with nothing else and while downloads from this storage stand still. */
async function measureIsolation(place: Place, field: RemoteField): Promise<RemoteResult> {
  const { kind } = field;
  const looks = async () => (await ask(place, '/api/fs/list', { path: '/local/small', per_page: 0, refresh: true }, LOOKS)).p99Ms;
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
    ...alone(field, 'isolation', `p99 of a local listing while ${STANDING} downloads stand still`, 0),
    ...{ wharfMs: besideMs, wharfCpuMs: stalled.cpuMs / LOOKS, besideMs: idleMs },
    verdict: `${idleMs.toFixed(1)} ms alone, <= 2 times: ${besideMs <= 2 * idleMs ? 'ok' : 'over'}`,
  };
}

/** What rclone does not do. */
function alone({ kind, rcloneVersion }: RemoteField, work: RemoteWork, title: string, amount: number) {
  const nothing = {
    wharfQuestions: undefined,
    rcloneQuestions: undefined,
    rcloneMs: undefined,
    rcloneCpuMs: undefined,
    besideMs: undefined,
  };
  return { ...nothing, work, title, amount, storage: kind.name, server: kind.server, latencyMs: 0, rcloneVersion };
}

async function timed<Result>({ wharf }: Place, run: () => Promise<Result>): Promise<Measured & { result: Result }> {
  const before = readUsage(wharf.pids()).cpuMs;
  const startedAt = performance.now();
  const result = await run();
  return { result, elapsedMs: performance.now() - startedAt, cpuMs: readUsage(wharf.pids()).cpuMs - before };
}

/** As clients send files: over connections that they keep, each with its length. @param name with `{n}` for the number of the file */
async function putFiles(place: Place, name: string, files: number, sizeBytes: number): Promise<void> {
  const { wharf, path } = place;
  const headers = { authorization: wharf.token, 'file-path': encodeURIComponent(`${path}/${name}`).replace('%7Bn%7D', '{n}') };
  await place.send({ method: 'PUT', path: '/api/fs/put', body: sizeBytes, headers }, files, AT_A_TIME);
}

/** @param offset with it only so many bytes from there */
async function read(place: Place, name: string, sizeBytes: number, offset?: number): Promise<void> {
  const path = await place.wharf.linkTo(`${place.path}/${name}`);
  const headers: Record<string, string> = offset === undefined ? {} : { range: `bytes=${offset}-${offset + sizeBytes - 1}` };
  await place.send({ method: 'GET', path, headers, expect: { sizeBytes } });
}

function ask(place: Place, route: string, input: object, times = 1): Promise<LoadResult> {
  const headers = { authorization: place.wharf.token, 'content-type': 'application/json' };
  return place.send({ method: 'POST', path: route, headers, body: JSON.stringify(input) }, times);
}

function list(place: Place, folder: string, refresh: boolean): Promise<LoadResult> {
  return ask(place, '/api/fs/list', { path: `${place.path}/${folder}`, per_page: 0, refresh });
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
    ...[each.wharfMs, each.wharfCpuMs, each.wharfQuestions, each.rcloneMs, each.rcloneCpuMs, each.rcloneQuestions].map(shown),
    each.verdict,
  ]);
  return alignColumns([
    ['remote', 'storage', 'latency ms', 'wharf ms', 'CPU ms', 'asked', 'rclone ms', 'CPU ms', 'asked', 'budget'],
    ...rows,
  ]);
}
