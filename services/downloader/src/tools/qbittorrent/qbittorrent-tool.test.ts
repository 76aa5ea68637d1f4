import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import type { AskTool } from '../ask-tool.ts';
import { createQbittorrentClient } from './qbittorrent-client.ts';
import { createQbittorrentTool } from './qbittorrent-tool.ts';

const HASH = 'c12fe1c06bba254a9dc9f519b335aa7c1367a88a';
const FOLDER = '/downloads/qbittorrent/task';

/** What the versions of the Web API answer to the calls that are used (qBittorrent's wiki, "WebUI API", and its changelog). */
interface Recorded {
  readonly version: string;
  readonly api: string;
  readonly cookie: string;
  /** A login with a wrong password, and with the right one. */
  readonly refusedLogin: readonly [status: number, body: string];
  readonly login: readonly [status: number, body: string];
  readonly pause: string;
  readonly resume: string;
  readonly added: readonly [status: number, body: string];
  readonly states: Readonly<Record<string, 'active' | 'paused' | 'complete' | 'failed'>>;
}
const COMMON = {
  downloading: 'active',
  stalledDL: 'active',
  checkingDL: 'active',
  checkingResumeData: 'active',
  queuedDL: 'active',
  forcedDL: 'active',
  moving: 'active',
  metaDL: 'active',
  uploading: 'complete',
  stalledUP: 'complete',
  queuedUP: 'complete',
  forcedUP: 'complete',
  error: 'failed',
  missingFiles: 'failed',
} as const;
const VERSION_4: Recorded = {
  version: 'v4.5.2',
  api: '2.8.19',
  cookie: 'SID',
  refusedLogin: [200, 'Fails.'],
  login: [200, 'Ok.'],
  pause: 'torrents/pause',
  resume: 'torrents/resume',
  added: [200, 'Ok.'],
  states: { ...COMMON, pausedDL: 'paused', pausedUP: 'complete' },
};
const VERSION_5: Recorded = {
  ...VERSION_4,
  version: 'v5.1.2',
  api: '2.11.4',
  pause: 'torrents/stop',
  resume: 'torrents/start',
  states: { ...COMMON, stoppedDL: 'paused', stoppedUP: 'complete', forcedMetaDL: 'active' },
};
/** The login tells by its status, the cookie has a name of its own, and an added torrent is answered with JSON. */
const VERSION_5_2: Recorded = {
  ...VERSION_5,
  version: 'v5.2.0',
  api: '2.15.0',
  cookie: 'QBT_SID_8080',
  refusedLogin: [401, ''],
  login: [204, ''],
  added: [202, '{"added_torrent_ids":[],"failure_count":0,"pending_count":1,"success_count":0}'],
};

function fakeServer(recorded: Recorded) {
  const seen: string[] = [];
  const torrent = { state: '', amount_left: 0 };
  let isAdded = false;
  const session = `${recorded.cookie}=0123456789abcdef`;
  const answer = (status: number, body: string, headers: Record<string, string[]> = {}) => ({ status, body, headers });
  const info = () => [
    {
      ...{ hash: HASH, name: 'x', state: torrent.state, size: 100, completed: 100 - torrent.amount_left, amount_left: torrent.amount_left },
      ...{ progress: 1 - torrent.amount_left / 100, save_path: FOLDER, download_path: '', num_seeds: 3, eta: 8_640_000, tags: 'wharf' },
    },
  ];
  const ask: AskTool = async (url, { headers, body }) => {
    const path = url.pathname.replace('/api/v2/', '');
    if (path === 'auth/login') {
      const isRight = String(body) === 'username=keeper&password=right';
      if (!isRight) return answer(...recorded.refusedLogin);
      return answer(...recorded.login, { 'set-cookie': [`${session}; HttpOnly; SameSite=Strict; path=/`] });
    }
    if (headers?.['Cookie'] !== session) return answer(403, 'Forbidden');
    seen.push(path);
    if (path === 'app/version') return answer(200, recorded.version);
    if (path === 'app/webapiVersion') return answer(200, recorded.api);
    if (path === 'torrents/info') return answer(200, JSON.stringify(isAdded ? info() : []));
    if (path === 'torrents/add') {
      isAdded = true;
      return answer(...recorded.added);
    }
    if ([recorded.pause, recorded.resume, 'torrents/delete'].includes(path)) return answer(200, '');
    return answer(404, 'Not Found');
  };
  return { ask, seen, torrent };
}

const open = (ask: AskTool, password = 'right') =>
  createQbittorrentTool(createQbittorrentClient(ask, { url: new URL('http://tool.example:8080/'), username: 'keeper', password }));
const { signal } = new AbortController();

describe.each([VERSION_4, VERSION_5, VERSION_5_2])('qBittorrent $version', (recorded) => {
  it('is logged in to, and tells its version', async () => {
    expect(await open(fakeServer(recorded).ask).version(signal)).toBe(recorded.version);
    expect(await open(fakeServer(recorded).ask, 'wrong').version(signal).catch(AppError.from)).toMatchObject({
      code: 'STORAGE_LOGIN_FAILED',
      message: 'the user or the password is wrong',
    });
  });

  it('takes a torrent once', async () => {
    const { ask, seen } = fakeServer(recorded);
    const source = { kind: 'magnet', url: `magnet:?xt=urn:btih:${HASH}`, hash: HASH } as const;
    const tool = open(ask);
    for (let round = 0; round < 2; round++) expect(await tool.add(source, FOLDER, signal)).toBe(HASH);
    expect(seen.filter((path) => path === 'torrents/add')).toHaveLength(1);
  });

  it('is paused and resumed by its own names, and a torrent that is taken out needs no more', async () => {
    const { ask, seen } = fakeServer(recorded);
    const tool = open(ask);
    await tool.add({ kind: 'magnet', url: `magnet:?xt=urn:btih:${HASH}`, hash: HASH }, FOLDER, signal);
    await tool.pause(HASH, signal);
    await tool.resume(HASH, signal);
    await tool.remove(HASH, FOLDER, signal);
    expect(seen).toEqual(expect.arrayContaining([recorded.pause, recorded.resume, 'torrents/delete']));
  });

  it('says how far a torrent is by its own names of states', async () => {
    const { ask, torrent } = fakeServer(recorded);
    const tool = open(ask);
    expect(await tool.find(HASH, FOLDER, signal)).toBeUndefined();
    await tool.add({ kind: 'magnet', url: `magnet:?xt=urn:btih:${HASH}`, hash: HASH }, FOLDER, signal).catch(() => undefined);
    for (const [state, meant] of Object.entries(recorded.states)) {
      Object.assign(torrent, { state, amount_left: meant === 'complete' ? 0 : 40 });
      expect(await tool.find(HASH, FOLDER, signal), state).toMatchObject({
        state: meant,
        totalBytes: 100,
        doneBytes: meant === 'complete' ? 100 : 60,
      });
    }
  });
});

it.each([
  ['a file', { kind: 'torrent', content: Buffer.from(''), hash: HASH, v2Hash: 'b'.repeat(40) }, 'b'.repeat(40)],
  ['a link to its v1 hash', { kind: 'magnet', url: `magnet:?xt=urn:btih:${HASH}`, hash: HASH }, HASH],
] as const)('a torrent of both versions is followed by the hash that it has: %s', async (_what, source, first) => {
  const v2 = 'b'.repeat(64);
  let torrent: { hash: string; infohash_v1: string; infohash_v2: string } | undefined;
  const removed: unknown[] = [];
  const client = {
    async get(_path: string, query: Readonly<Record<string, string>> = {}) {
      // As qBittorrent 4.5.2 does it: what it is called by, and nothing else, is found.
      const isAsked = query['hashes'] === undefined || query['hashes'].split('|').includes(torrent?.hash ?? '');
      const facts = { state: 'downloading', progress: 0, completed: 0, amount_left: 1, size: 1, save_path: FOLDER };
      return JSON.stringify(torrent && isAsked ? [{ ...facts, ...torrent }] : []);
    },
    async post(path: string, form: unknown) {
      if (path === 'torrents/add') torrent = { hash: first, infohash_v1: HASH, infohash_v2: source.kind === 'torrent' ? v2 : '' };
      else removed.push([path, form]);
      return '';
    },
    version: async () => '',
  };
  const tool = createQbittorrentTool(client, async () => undefined);
  const id = await tool.add(source, FOLDER, signal);
  expect(id).toBe(first);
  torrent = { hash: v2.slice(0, 40), infohash_v1: HASH, infohash_v2: v2 };
  const status = await tool.find(id, FOLDER, signal);
  expect(status?.followedBy).toBe(source.kind === 'torrent' ? undefined : v2.slice(0, 40));
  expect(await tool.find(id, `${FOLDER}-2`, signal)).toBeUndefined();
  await tool.remove(id, FOLDER, signal);
  expect(removed).toEqual([['torrents/delete', { hashes: v2.slice(0, 40), deleteFiles: 'false' }]]);
});

it('what is left of a torrent whose adding was broken off is taken out when it comes, and nothing in other folders', async () => {
  const torrent = (hash: string, save_path: string) => ({
    ...{ hash, save_path, state: 'downloading', progress: 0, completed: 0, amount_left: 1, size: 1 },
  });
  let looks = 0;
  const removed: unknown[] = [];
  const client = {
    async get() {
      looks += 1;
      return JSON.stringify([torrent('b'.repeat(40), `${FOLDER}-2`), ...(looks < 3 ? [] : [torrent(HASH, `${FOLDER}/`)])]);
    },
    async post(path: string, form: unknown) {
      removed.push([path, form]);
      return '';
    },
    version: async () => '',
  };
  const tool = createQbittorrentTool(client, async () => undefined);
  await tool.removeFrom(FOLDER, signal);
  expect([looks, removed]).toEqual([3, [['torrents/delete', { hashes: HASH, deleteFiles: 'false' }]]]);
  await tool.removeFrom('/downloads/qbittorrent/none', signal);
  expect(removed).toHaveLength(1);
});

it('a torrent that another download has there by now is not found, and stays', async () => {
  const there = { hash: HASH, save_path: `${FOLDER}-2`, state: 'uploading', progress: 1, completed: 1, amount_left: 0, size: 1 };
  const removed: unknown[] = [];
  const client = {
    get: async () => JSON.stringify([there]),
    async post(path: string, form: unknown) {
      removed.push([path, form]);
      return '';
    },
    version: async () => '',
  };
  const tool = createQbittorrentTool(client, async () => undefined);
  expect(await tool.find(HASH, FOLDER, signal)).toBeUndefined();
  await tool.remove(HASH, FOLDER, signal);
  expect(removed).toEqual([]);
  await tool.remove(HASH, `${FOLDER}-2/`, signal);
  // What is given up goes with its files, which may be where qBittorrent keeps what is not complete.
  await tool.remove(HASH, `${FOLDER}-2/`, signal, true);
  await tool.removeFrom(`${FOLDER}-2`, signal, true);
  expect(removed).toEqual(['false', 'true', 'true'].map((deleteFiles) => ['torrents/delete', { hashes: HASH, deleteFiles }]));
});

it('a torrent that somebody else has there is refused before anything is begun, and one of the same folder is not', async () => {
  const there = { hash: HASH, save_path: `${FOLDER}-2`, state: 'uploading', progress: 1, completed: 1, amount_left: 0, size: 1 };
  const client = {
    get: async () => JSON.stringify([there]),
    post: () => Promise.reject(new Error('nothing is added')),
    version: async () => '',
  };
  const tool = createQbittorrentTool(client, async () => undefined);
  const source = { kind: 'magnet', url: `magnet:?xt=urn:btih:${HASH}`, hash: HASH } as const;
  await expect(tool.requireNew?.(source, FOLDER, signal)).rejects.toThrow('in qBittorrent already');
  await tool.requireNew?.(source, `${FOLDER}-2/`, signal);
});

it('a torrent that does not come is not looked for without end where each answer takes long', async () => {
  let nowMs = 0;
  let looks = 0;
  const client = {
    async get() {
      looks += 1;
      nowMs += 3_900;
      return '[]';
    },
    post: async () => '',
    version: async () => '',
  };
  const slow = createQbittorrentTool(
    client,
    async () => undefined,
    () => nowMs,
  );
  const source = { kind: 'magnet', url: `magnet:?xt=urn:btih:${HASH}`, hash: HASH } as const;
  await expect(slow.add(source, FOLDER, signal)).rejects.toThrow('did not take the torrent');
  expect(looks).toBeLessThan(10);
});
