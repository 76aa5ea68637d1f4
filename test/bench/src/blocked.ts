import { httpRequest } from '@wharf/harness';
import { alignColumns } from './align-columns.ts';
import { type BlockedCase, prepareBlockedCases } from './blocked-cases.ts';
import type { Fixture } from './fixture.ts';
import { type Pinger, startPinger } from './pinger.ts';
import type { WharfServer } from './wharf-server.ts';

/** How long a ping may wait beside any other request that says nothing else. */
const BUDGET_MS = 100;
/** Whoever is silent for so long has failed. */
const SILENCE_MS = 180_000;

/** The longest wait of a ping beside one request. */
export interface Wait {
  readonly title: string;
  readonly server: string;
  /** Of the rounds the shortest: what else the machine does only makes it longer. */
  readonly longestPingMs: number;
  /** Until the request was answered; of the same round. */
  readonly answeredMs: number;
  /** What it was answered: envelope codes or HTTP statuses, each once. */
  readonly answers: string;
  readonly budgetMs: number;
}

/** Sends the requests that once held up everybody else, with a ping beside each, to every server in turn. */
export async function measureBlocked(wharfs: readonly WharfServer[], fixture: Fixture, rounds: number): Promise<Wait[]> {
  const waits: Wait[] = [];
  for (const wharf of wharfs) {
    const cases = await prepareBlockedCases(wharf, fixture);
    const pinger = startPinger(wharf.base);
    try {
      for (const each of cases) {
        const measured: Wait[] = [];
        for (let round = 0; round < rounds; round += 1) measured.push(await measureOne(wharf, each, pinger));
        const best = measured.sort((left, right) => left.longestPingMs - right.longestPingMs)[0];
        if (best) waits.push(best);
        console.error(`${wharf.name}, ${each.title}: ${Math.round(best?.longestPingMs ?? Number.NaN)} ms`);
      }
    } finally {
      await pinger.stop();
    }
  }
  return waits;
}

async function measureOne(wharf: WharfServer, { title, requests, budgetMs = BUDGET_MS }: BlockedCase, pinger: Pinger): Promise<Wait> {
  await pinger.longestMs();
  const startedAt = performance.now();
  const answers = await Promise.all(
    requests.map(async (request) => {
      const answer = await httpRequest(wharf.base, { idleTimeoutMs: SILENCE_MS, ...request });
      return /^\{"code":(\d+)/.exec(answer.body.toString('latin1', 0, 20))?.[1] ?? `HTTP ${answer.status}`;
    }),
  );
  const answeredMs = performance.now() - startedAt;
  const longestPingMs = await pinger.longestMs();
  return { title, server: wharf.name, longestPingMs, answeredMs, answers: [...new Set(answers)].join(', '), budgetMs };
}

/** One line for each request, with the waits of the servers beside each other. */
export function formatBlocked(waits: readonly Wait[]): string {
  const servers = [...new Set(waits.map(({ server }) => server))];
  const rows = [...new Set(waits.map(({ title }) => title))].map((title) => {
    const own = servers.map((server) => waits.find((wait) => wait.title === title && wait.server === server));
    const worst = Math.max(...own.map((wait) => wait?.longestPingMs ?? 0));
    const cells = own.flatMap((wait) => (wait ? [String(Math.round(wait.longestPingMs)), String(Math.round(wait.answeredMs))] : ['', '']));
    const budgetMs = own.find((wait) => wait)?.budgetMs ?? BUDGET_MS;
    return [title, own[0]?.answers ?? '', ...cells, `<= ${budgetMs} ms: ${worst <= budgetMs ? 'ok' : 'over'}`];
  });
  const columns = servers.flatMap((server) => [`ping ms, ${server}`, 'answered ms']);
  return alignColumns([['blocked: longest wait of a ping beside', 'answers', ...columns, 'budget'], ...rows]);
}
