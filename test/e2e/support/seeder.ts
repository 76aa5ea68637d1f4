import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { httpRequest, isMissing, type Missing, startQbittorrent, waitFor } from '@wharf/harness';
import { makeTorrent, type TorrentFiles, torrentHash } from './torrent.ts';

/** A torrent client that has files which others want. Nothing leads to it: it has to be told of them. */
export interface Seeder {
  /**
   * Connects to a peer who listens on loopback, and gives it the files. It knows nothing of earlier offers: who refused one is asked anew.
   * @param to.bytesPerSecond 0: as fast as it goes.
   */
  offer(name: string, files: TorrentFiles, to: { readonly peerPort: number; readonly bytesPerSecond: number }): Promise<void>;
  stop(): Promise<void>;
}

/** One that connects to its peers by itself: some refuse to connect to loopback. */
export async function startSeeder(): Promise<Seeder | Missing> {
  const client = await startQbittorrent();
  if (isMissing(client)) return client;
  const { url, username, password, downloadDir } = client;
  let cookie = '';
  const ask = async (path: string, form: Record<string, string> | FormData) => {
    const encoded = new Response(form instanceof FormData ? form : new URLSearchParams(form));
    const answer = await httpRequest(url, {
      ...{ path: `/api/v2/${path}`, method: 'POST', body: new Uint8Array(await encoded.arrayBuffer()) },
      headers: { cookie, referer: url, 'content-type': encoded.headers.get('content-type') ?? '' },
    });
    if (answer.status >= 300) throw new Error(`the seeder answers ${path} with ${answer.status}`);
    return answer;
  };
  const login = await ask('auth/login', { username, password });
  cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
  return {
    async offer(name, files, { peerPort, bytesPerSecond }) {
      for (const [path, content] of files) {
        const file = join(downloadDir, name, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
      }
      const hash = torrentHash(name, files);
      await ask('torrents/delete', { hashes: hash, deleteFiles: 'false' });
      const form = new FormData();
      form.set('torrents', new Blob([new Uint8Array(makeTorrent(name, files))]), 'seed.torrent');
      form.set('savepath', downloadDir);
      form.set('upLimit', String(bytesPerSecond));
      await ask('torrents/add', form);
      await waitFor(
        'the seed',
        async () => /"amount_left":0,.*"state":"(?:stalledUP|uploading)"/.test((await ask('torrents/info', { hashes: hash })).text()),
        { withinMs: 30_000 },
      );
      await ask('torrents/addPeers', { hashes: hash, peers: `127.0.0.1:${peerPort}` });
    },
    stop: () => client.stop(),
  };
}
