import { createHash, randomBytes } from 'node:crypto';
import { type Api, at, download, httpRequest, login, waitFor } from '@wharf/harness';

/** After the end of a cause everything is to be well again within this. */
const WELL_WITHIN_MS = 30_000;
/** No answer may take longer, whatever is away. */
export const ANSWER_WITHIN_MS = 35_000;
const FOLDER = '/local/load';

/** What a client does with a file of its own. @throws Error: it failed */
export type Step = (path: string, content: Buffer) => Promise<unknown>;

/** Clients of a Wharf that do what clients do most, and remember what was acknowledged. */
export interface Load {
  readonly caller: Api;
  /** In a round. */
  readonly stepCount: number;
  /** One of each step; answers what went wrong. */
  round(): Promise<string[]>;
  /** Clients that go round until they are told to stop. */
  start(clients: number): { stop(): Promise<{ readonly rounds: number; readonly wrong: readonly string[] }> };
  /** Uploads a file of the folder and remembers it. @throws Error: it was not acknowledged */
  put(path: string, content: Buffer): Promise<void>;
  /** @throws Error: the file is another one */
  readonly expectContent: Step;
  /** The path and query of its link. */
  linkOf(path: string): Promise<string>;
  /** @throws Error: something that was acknowledged is not there as it was. What is there is forgotten. */
  expectAcknowledged(): Promise<void>;
  wellAgain(): Promise<void>;
  /** Where a file of the clients lies. */
  pathOf(name: string): string;
}

/** @param more steps beside the five that every client does, by their names */
export async function openLoad(
  base: string,
  adminPassword: string,
  more: (caller: Api) => Promise<Readonly<Record<string, Step>>> = async () => ({}),
): Promise<Load> {
  const caller = await login(base, 'admin', adminPassword);
  await caller.call('/api/fs/mkdir', { path: FOLDER });
  /** Digests of what was acknowledged and not looked at since, by path. */
  const acknowledged = new Map<string, string>();
  const linkOf = async (path: string) => {
    const { pathname, search } = new URL(String(at(await caller.call('/api/fs/get', { path }), 'raw_url')));
    return pathname + search;
  };
  const read = async (path: string) => {
    const { code, message } = await caller.get(path);
    if (code !== 200) throw new Error(`${code} ${message}`);
  };
  const put = async (path: string, body: Buffer) => {
    const headers = { Authorization: caller.token, 'File-Path': path, 'Content-Length': body.length };
    const answer = await httpRequest(base, { method: 'PUT', path: '/api/fs/put', headers, body, idleTimeoutMs: ANSWER_WITHIN_MS });
    const { code, message } = JSON.parse(answer.text());
    if (code !== 200) throw new Error(`${code} ${message}`);
    acknowledged.set(path, digestOf(body));
  };
  const expectDigest = async (path: string, digest: string) => {
    const { sha256 } = await download(base, { path: await linkOf(path) });
    if (sha256 !== digest) throw new Error(`${path} is another file`);
  };
  const expectContent: Step = (path, content) => expectDigest(path, digestOf(content));
  const steps: Readonly<Record<string, Step>> = {
    upload: put,
    list: () => caller.call('/api/fs/list', { path: FOLDER, page: 1, per_page: 30 }),
    download: expectContent,
    tasks: () => read('/api/task/copy/undone'),
    settings: () => read('/api/admin/setting/list'),
    ...(await more(caller)),
  };
  const pathOf = (name: string) => `${FOLDER}/${name}`;
  const round = async () => {
    const [path, content] = [pathOf(randomBytes(8).toString('hex')), randomBytes(4_096)];
    const wrong: string[] = [];
    for (const [step, act] of Object.entries(steps)) await act(path, content).catch((error) => wrong.push(`${step}: ${error}`));
    return wrong;
  };
  return {
    ...{ caller, round, put, linkOf, pathOf, expectContent },
    stepCount: Object.keys(steps).length,
    start(clients) {
      let isOver = false;
      const wrong: string[] = [];
      let rounds = 0;
      const running = Array.from({ length: clients }, async () => {
        for (; !isOver; rounds += 1) for (const one of await round()) wrong.push(`${new Date().toISOString()} ${one}`);
      });
      return {
        async stop() {
          isOver = true;
          await Promise.all(running);
          return { rounds, wrong };
        },
      };
    },
    async expectAcknowledged() {
      for (const [path, digest] of acknowledged) await expectDigest(path, digest);
      acknowledged.clear();
    },
    async wellAgain() {
      await waitFor('all to be well', async () => (await round()).length === 0, { withinMs: WELL_WITHIN_MS });
    },
  };
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
