import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { at, httpRequest, isMissing, startDocumentDb } from '@wharf/harness';
import { p50Below } from './budget.ts';
import type { Fixture } from './fixture.ts';
import { makeNameTree, wordsToFind } from './name-tree.ts';
import { startWharf, type WharfServer } from './wharf-server.ts';
import type { Contender, Work, WorkName } from './works.ts';

/** What the works of searching need beside the others. */
export interface SearchOptions {
  readonly wharfs: readonly WharfServer[];
  readonly fixture: Fixture;
  readonly isQuick: boolean;
  /** Whether this very work is to run. */
  readonly isWanted: (name: WorkName) => boolean;
  /** Whether it was asked for by name. */
  readonly isNamed: (name: WorkName) => boolean;
  /** Stops something at the end. */
  readonly keep: (stop: () => Promise<void>) => void;
}

const WORDS = 200;
/** An index that takes longer is not searched. */
const BUILD_LIMIT_MS = 300_000;
const BUILD_LOOK_MS = 500;
const ROUND_LIMIT_MS = 15_000;

/** Makes the names, builds the indexes, which takes a while, and answers the works. */
export async function prepareSearchWorks(options: SearchOptions): Promise<Work[]> {
  const { wharfs, fixture, isQuick, isWanted, isNamed } = options;
  const works: Work[] = [];
  if (isWanted('search') && wharfs.length > 0) {
    const names = isQuick ? 20_000 : 1_000_000;
    console.error(`making ${names.toLocaleString('en')} names and indexing them`);
    makeNameTree(join(fixture.filesDir, 'names'), names);
    const indexed: WharfServer[] = [];
    for (const wharf of wharfs) if (await buildIndex(wharf)) indexed.push(wharf);
    works.push(searchWork('search', `search in ${names.toLocaleString('en')} names`, indexed, 20));
  }
  // The engine takes a container and its index minutes: not for a quick look.
  if (isNamed('search-store') || (isWanted('search-store') && !isQuick)) {
    const server = await startOnEngine(options);
    if (server)
      works.push({
        ...searchWork('search-store', `search in ${server.names.toLocaleString('en')} names in the store`, [server.wharf], 50),
        judged: server.wharf.name,
      });
  }
  return works;
}

async function startOnEngine({ fixture, isQuick, keep }: SearchOptions): Promise<{ wharf: WharfServer; names: number } | undefined> {
  const engine = await startDocumentDb();
  if (isMissing(engine)) {
    console.error(`search-store is left out: ${engine.missing}`);
    return undefined;
  }
  keep(() => engine.stop());
  const names = isQuick ? 5_000 : 200_000;
  console.error(`making ${names.toLocaleString('en')} names and indexing them in the store`);
  makeNameTree(fixture.storeNamesDir, names);
  const wharf = await startWharf('services', { ...fixture, filesDir: fixture.storeNamesDir }, undefined, {
    env: { MONGO_URL: `${engine.url}bench` },
  });
  keep(() => wharf.stop());
  return (await buildIndex(wharf)) ? { wharf, names } : undefined;
}

function searchWork(name: WorkName, title: string, wharfs: readonly WharfServer[], p50Ms: number): Work {
  const contenders = wharfs.map((server): Contender => {
    const headers = { 'content-type': 'application/json', authorization: server.token };
    const body = wordsToFind(WORDS).map((keywords) =>
      JSON.stringify({ parent: '/', keywords, scope: 0, page: 1, per_page: 100, password: '' }),
    );
    return { server, request: { method: 'POST', path: '/api/fs/search', headers, body, expect: { prefix: '{"code":200,' } } };
  });
  // One after the other: what one searcher waits for.
  const amount = { connections: 1, requests: WORDS, limitMs: ROUND_LIMIT_MS };
  return { name, title, amount, warmUpRequests: 20, contenders, budget: p50Below(p50Ms) };
}

/** @returns whether it was complete in time; says how long it took. */
async function buildIndex(wharf: WharfServer): Promise<boolean> {
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { authorization: wharf.token, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = (
      await httpRequest(wharf.base, { method, path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    ).json();
    if (at(answer, 'code') !== 200) throw new Error(`${path} answered ${JSON.stringify(answer).slice(0, 300)}`);
    return at(answer, 'data');
  };
  const setting = await ask('GET', '/api/admin/setting/get?key=search_index');
  if (typeof setting !== 'object') throw new Error('search_index is no setting');
  await ask('POST', '/api/admin/setting/save', [{ ...setting, value: 'database' }]);
  await ask('POST', '/api/admin/index/build', {});
  const startedAt = performance.now();
  for (;;) {
    const progress = await ask('GET', '/api/admin/index/progress');
    const tookMs = performance.now() - startedAt;
    const isDone = at(progress, 'is_done') === true;
    if (isDone || tookMs > BUILD_LIMIT_MS) {
      console.error(`${wharf.name}: ${isDone ? 'indexed' : 'NOT INDEXED, so not searched,'} after ${Math.round(tookMs / 1000)} s`);
      if (!isDone) await ask('POST', '/api/admin/index/stop', {});
      return isDone;
    }
    await delay(BUILD_LOOK_MS);
  }
}
