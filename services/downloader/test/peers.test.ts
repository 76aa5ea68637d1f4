import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient, type GuardedClient } from '@wharf/egress';
import { type DownloadTool, isAvailable, makeTempDir, startQbittorrent, type TempDir, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAskTool } from '../src/tools/ask-tool.ts';
import { makeProbeTorrent, type ProbeTorrent } from '../src/tools/probe-torrent.ts';
import { createQbittorrentClient, type QbittorrentClient } from '../src/tools/qbittorrent/qbittorrent-client.ts';
import { createQbittorrentTool } from '../src/tools/qbittorrent/qbittorrent-tool.ts';
import { parseToolAddress } from '../src/tools/tool-address.ts';

const [seeder, leecher] = [await startQbittorrent(), await startQbittorrent()];
const WITHIN = { withinMs: 50_000, everyMs: 250 };

describe.runIf(isAvailable('qBittorrent', seeder) && isAvailable('qBittorrent', leecher))('a torrent between two peers', () => {
  let client: GuardedClient;
  let dir: TempDir;
  const { signal } = new AbortController();

  beforeAll(async () => {
    dir = await makeTempDir('peers');
    client = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden: [] }), 4);
  });
  afterAll(async () => {
    client.close();
    for (const tool of [seeder, leecher]) if ('stop' in tool) await tool.stop();
    await dir.remove();
  });
  const open = (tool: object): QbittorrentClient => {
    if (!isTool(tool)) throw new Error('it is missing');
    const { url, username, password } = tool;
    return createQbittorrentClient(createAskTool(client), parseToolAddress(Object.assign(new URL(url), { username, password }).href));
  };

  it.each(['torrent', 'magnet'] as const)('given as %s arrives whole', async (kind) => {
    const torrent = makePublic(makeProbeTorrent(`show-${kind}`, randomBytes(16 * 1024)));
    const [source, target] = [join(dir.path, kind, 'source'), join(dir.path, kind, 'target')];
    for (const folder of [join(source, torrent.name), target]) await mkdir(folder, { recursive: true });
    await writeFile(join(source, torrent.name, torrent.fileName), torrent.fileContent);
    const [from, to] = [open(seeder), open(leecher)];
    const [giving, taking] = [createQbittorrentTool(from), createQbittorrentTool(to)];
    const given = { kind: 'torrent', content: torrent.content, hash: torrent.hash } as const;
    const id = await giving.add(given, source, signal);
    await waitFor('the seed', async () => (await giving.find(id, signal))?.state === 'complete', WITHIN);
    const wanted = kind === 'torrent' ? given : ({ kind, url: `magnet:?xt=urn:btih:${torrent.hash}`, hash: torrent.hash } as const);
    expect(await taking.add(wanted, target, signal)).toBe(torrent.hash);
    const { listen_port } = z.object({ listen_port: z.number() }).parse(JSON.parse(await from.get('app/preferences')));
    await waitFor(
      'the file',
      async () => {
        await to.post('torrents/addPeers', { hashes: torrent.hash, peers: `127.0.0.1:${listen_port}` });
        return (await taking.find(id, signal))?.state === 'complete';
      },
      { ...WITHIN, everyMs: 1_000 },
    );
    expect((await readFile(join(target, torrent.name, torrent.fileName))).equals(torrent.fileContent)).toBe(true);
    await taking.remove(id);
    expect(await taking.find(id, signal)).toBeUndefined();
  });
});

/** Peers do not tell what a private torrent is made of to those who have a link only. */
function makePublic(torrent: ProbeTorrent): ProbeTorrent {
  const text = torrent.content.toString('latin1').replace('7:privatei1e', '');
  const info = Buffer.from(text.slice('d4:info'.length, -1), 'latin1');
  return { ...torrent, content: Buffer.from(text, 'latin1'), hash: createHash('sha1').update(info).digest('hex') };
}

function isTool(tool: object): tool is DownloadTool {
  return 'url' in tool;
}
