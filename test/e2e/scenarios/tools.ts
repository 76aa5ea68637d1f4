import {
  at,
  type DownloadTool,
  freePort,
  isAvailable,
  type Missing,
  startAria2,
  startHttpServer,
  startQbittorrent,
  startTransmission,
} from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { dataOf } from '../support/people.ts';
import { withSettings } from '../support/settings.ts';
import type { World } from '../support/world.ts';

interface ToolCase {
  readonly name: string;
  readonly start: () => Promise<DownloadTool | Missing>;
  readonly routes: readonly string[];
  readonly settings: readonly string[];
  readonly body: (tool: Pick<DownloadTool, 'url' | 'username' | 'password'>) => Record<string, string>;
  readonly answer: RegExp;
  readonly failure: string;
  readonly refused: string;
}

const withLogin = ({ url, username, password }: Pick<DownloadTool, 'url' | 'username' | 'password'>) =>
  Object.assign(new URL(url), { username, password }).href;

const CASES: readonly ToolCase[] = [
  {
    name: 'aria2',
    start: startAria2,
    routes: ['set_rpcdl', 'set_aria2'],
    settings: ['rpcdl_uri', 'aria2_uri'],
    body: ({ url, password }) => ({ uri: url, secret: password }),
    answer: /^aria2 version: \d+\.\d+/,
    failure: 'failed get aria2 version: ',
    refused: 'the secret is wrong',
  },
  {
    name: 'qBittorrent',
    start: startQbittorrent,
    routes: ['set_torrent', 'set_qbit'],
    settings: ['torrent_url', 'qbittorrent_url'],
    body: (tool) => ({ url: withLogin(tool), seedtime: '7' }),
    answer: /^v\d+\.\d+/,
    failure: 'failed to init qBittorrent client: ',
    refused: 'the user or the password is wrong',
  },
  {
    name: 'Transmission',
    start: startTransmission,
    routes: ['set_transmission'],
    settings: ['transmission_uri'],
    body: (tool) => ({ uri: withLogin(tool), seedtime: '7' }),
    answer: /^ok$/,
    failure: 'failed to init transmission client: ',
    refused: 'the user or the password is wrong',
  },
];
const ALL_SETTINGS = ['rpcdl_uri', 'rpcdl_secret', 'torrent_url', 'torrent_seedtime', 'transmission_uri', 'transmission_seedtime'];

/** Download tools are real programs, and are asked before anything about them is stored. */
export function tools(world: World): void {
  const { admin } = world;
  const savedValue = async (key: string) => at(await dataOf(admin, `/api/admin/setting/get?key=${key}`), 'value');
  const restored = async (use: () => Promise<void>) => {
    const items = await dataOf(admin, `/api/admin/setting/get?keys=${ALL_SETTINGS.join(',')}`);
    if (!Array.isArray(items)) throw new Error('the settings are no list');
    const before = Object.fromEntries(items.map((item) => [String(at(item, 'key')), String(at(item, 'value'))]));
    await withSettings(world, before, use);
  };

  describe.each(CASES)('$name', ({ name, start, routes, settings, body, answer, failure, refused }) => {
    let tool: DownloadTool | Missing;
    beforeAll(async () => {
      tool = await start();
    });
    afterAll(async () => {
      if ('stop' in tool) await tool.stop();
    });
    const set = (route: string, input: Record<string, string>) => admin.post(`/api/admin/setting/${route}`, input);

    test('answers through each route, and is stored under each name', async (context) => {
      if (!isAvailable(name, tool)) return context.skip(tool.missing);
      const real = tool;
      for (const route of routes)
        await restored(async () => {
          const reply = await set(route, body(real));
          expect(reply).toMatchObject({ code: 200, message: 'success' });
          expect(reply.data).toMatch(answer);
          for (const key of settings) expect(await savedValue(key)).toBe(Object.values(body(real))[0]);
          if (name !== 'aria2') expect(await savedValue(`${name === 'qBittorrent' ? 'torrent' : 'transmission'}_seedtime`)).toBe('7');
        });
    });

    test('with a wrong secret is refused and not stored', async (context) => {
      if (!isAvailable(name, tool)) return context.skip(tool.missing);
      const real = tool;
      const [key = ''] = settings;
      const before = await savedValue(key);
      expect(await set(routes[0] ?? '', body({ ...real, password: 'wrong' }))).toMatchObject({
        code: 500,
        message: `${failure}${refused}`,
        data: null,
      });
      expect(await savedValue(key)).toBe(before);
    });

    test('that does not run, or is something else, is refused and not stored', async () => {
      const [key = ''] = settings;
      const before = await savedValue(key);
      const tryAt = (url: string) => set(routes[0] ?? '', body({ url, username: 'u', password: 'p' }));
      const nobody = await tryAt(`http://localhost:${await freePort()}/`);
      expect(nobody).toMatchObject({ code: 500, data: null });
      expect(nobody.message).toMatch(/refuses connections$/);
      const other = await startHttpServer((_request, response) => void response.end('{"code":404}'));
      onTestFinished(() => other.stop());
      expect((await tryAt(`${other.url}/jsonrpc`)).message).toMatch(/what answers there is not /);
      expect((await tryAt('http://169.254.169.254/')).message).toMatch(/must not be reached/);
      expect(await tryAt('nowhere:1')).toMatchObject({ code: 500, data: null });
      expect(await savedValue(key)).toBe(before);
    });
  });
}
