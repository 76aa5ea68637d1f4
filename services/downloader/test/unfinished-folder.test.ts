import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type DownloadTool, isAvailable, type Missing, startQbittorrent, startTransmission, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AwkwardServer, content, startAwkwardServer } from './awkward-server.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const PIECE_BYTES = 16 * 1024;
/** More than Transmission keeps in memory. */
const HALF_BYTES = 6 * 1024 * 1024;
const COUNT = 24;
const WITHIN = { withinMs: 120_000 };

/** A torrent of one file, which comes from a web seed. */
function makeTorrent(name: string, file: Buffer, seed: string): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < file.length; at += PIECE_BYTES) {
    const piece = file.subarray(at, at + PIECE_BYTES);
    pieces.push(createHash('sha1').update(piece).digest());
  }
  const head = `d4:infod6:lengthi${file.length}e4:name${name.length}:${name}12:piece lengthi${PIECE_BYTES}e6:pieces${20 * pieces.length}:`;
  return Buffer.concat([Buffer.from(head), ...pieces, Buffer.from(`e8:url-list${seed.length}:${seed}e`)]);
}

const CASES = [
  ['Transmission', startTransmission, 'transmission'],
  ['qBittorrent', startQbittorrent, 'torrent'],
] as const;

describe.each(CASES)('%s, which keeps what is not complete in a folder of its own', async (name, start, setting) => {
  const tool: DownloadTool | Missing = await start({ keepsUnfinishedApart: true });
  if (!isAvailable(name, tool)) return it.skip(`need ${name}: ${tool.missing}`, () => undefined);
  const files = new Map<string, Buffer>();
  let place: Installation;
  let server: AwkwardServer;
  let replica: Replica;
  /** Of the file of which one half comes, whichever is asked for first. */
  let halfBytes = 0;

  beforeAll(async () => {
    const { url, username, password } = tool;
    const address = Object.assign(new URL(url), { username, password }).href;
    place = await openInstallation({ [`${setting}_${name === 'Transmission' ? 'uri' : 'url'}`]: address, [`${setting}_seedtime`]: '0' });
    server = await startAwkwardServer({
      content: Buffer.alloc(0),
      handle(request, response) {
        const asked = decodeURIComponent(request.url ?? '').slice(1);
        const [, fileName = ''] = /^(?:seeds[/])?(.*?)(?:[.]torrent)?$/.exec(asked) ?? [];
        const file = files.get(fileName);
        if (!file) response.writeHead(404).end();
        else if (asked.endsWith('.torrent')) response.end(makeTorrent(fileName, file, `${server.url}/seeds/`));
        else {
          const [, from = 0, to = file.length - 1] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '')?.map(Number) ?? [];
          const body = file.subarray(from, to + 1);
          const headers = { 'Content-Range': `bytes ${from}-${to}/${file.length}`, 'Content-Length': String(body.length) };
          response.writeHead(request.headers.range === undefined ? 200 : 206, headers);
          const given = fileName === 'half' ? body.subarray(0, Math.max(0, HALF_BYTES - halfBytes)) : body;
          if (fileName === 'half') halfBytes += given.length;
          if (given.length === body.length) response.end(given);
          else response.write(given);
        }
        return true;
      },
    });
    replica = await place.open({ downloadsPerUser: 2 * COUNT });
  });
  afterAll(async () => {
    await place?.close();
    await server?.close();
    await tool.stop();
  });
  const left = () => readdir(tool.unfinishedDir).catch(() => []);

  it('moves it when it is, and then it is transferred as it is', { timeout: 180_000 }, async () => {
    const ids: string[] = [];
    for (let index = 0; index < COUNT; index++) {
      files.set(`film-${index}`, content(60_000 + index, index + 1));
      ids.push(await replica.add(`${server.url}/film-${index}.torrent`, name));
    }
    const ended = async () => {
      const tasks = await Promise.all(ids.map((id) => replica.task(id)));
      return tasks.every(({ state }) => state === 2 || state === 7) ? tasks : undefined;
    };
    const tasks = await waitFor('their end', ended, WITHIN);
    expect(tasks.map(({ error }) => error).filter((error) => error !== '')).toEqual([]);
    await waitFor('the transfers', async () => (await replica.transfers()).length === 0, WITHIN);
    for (const [film, bytes] of files) expect(place.fs.files.get(`/in/${film}`)?.equals(bytes), film).toBe(true);
    expect([...place.fs.files.keys()].length).toBe(COUNT);
    expect(await left()).toEqual([]);
  });

  it('keeps nothing of what is cancelled', { timeout: 180_000 }, async () => {
    files.set('half', content(2 * HALF_BYTES, 99));
    const id = await replica.add(`${server.url}/half.torrent`, name);
    await waitFor('some of it', async () => (await left()).length > 0 && (await replica.task(id)).progress > 0, WITHIN);
    await replica.cancel(id);
    await replica.until(id, { state: 4 });
    await waitFor('nothing to be left', async () => (await left()).length === 0, { withinMs: 20_000 });
    const folder = join(place.dir, 'tools', name.toLowerCase());
    await waitFor('its folder to go', async () => (await readdir(folder)).length === 0, { withinMs: 20_000 });
  });
});
