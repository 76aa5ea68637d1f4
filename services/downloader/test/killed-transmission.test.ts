import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { isAvailable, startTransmission, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseToolAddress } from '../src/domain/tool-address.ts';
import { createAskTool } from '../src/tools/ask-tool.ts';
import { makeProbeTorrent } from '../src/tools/probe-torrent.ts';
import { createTransmissionClient } from '../src/tools/transmission/transmission-client.ts';
import { type AwkwardServer, content, startAwkwardServer } from './awkward-server.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const transmission = await startTransmission();
const PATIENTLY = { withinMs: 60_000 };

/** Transmission keeps a torrent at once, and minutes later in which folder it is. */
describe.runIf(isAvailable('Transmission', transmission))('a Transmission that is killed soon after it was given a torrent', () => {
  if ('missing' in transmission) return;
  const torrents = ['fetched', 'given-up'].map((name, index) => makeProbeTorrent(name, content(1000, index + 1)));
  let isHeld = true;
  let place: Installation;
  let server: AwkwardServer;
  let replica: Replica;

  beforeAll(async () => {
    const address = Object.assign(new URL(transmission.url), { username: transmission.username, password: transmission.password }).href;
    place = await openInstallation({ transmission_uri: address, transmission_seedtime: '0' });
    server = await startAwkwardServer({
      content: Buffer.alloc(0),
      handle(request, response) {
        const found = torrents.find(({ name }) => request.url?.includes(name));
        const seeds = `${server.url}/seeds/`;
        if (request.url === `/${found?.name}.torrent`)
          response.end(
            Buffer.concat([found?.content.subarray(0, -1) ?? Buffer.alloc(0), Buffer.from(`8:url-list${seeds.length}:${seeds}e`)]),
          );
        else if (found === undefined || isHeld) response.writeHead(503).end();
        else {
          const [, from = 0, to = 0] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '')?.map(Number) ?? [];
          response.writeHead(206, { 'Content-Range': `bytes ${from}-${to}/${found.fileContent.length}` });
          response.end(found.fileContent.subarray(from, to + 1));
        }
        return true;
      },
    });
    replica = await place.open();
  });
  afterAll(async () => {
    await place?.close();
    await server?.close();
    await transmission.stop();
  });
  const namesInIt = async () => {
    const { url, username, password } = transmission;
    const network = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden: [] }), { maxConnections: 1 });
    try {
      const address = parseToolAddress(Object.assign(new URL(url), { username, password }).href);
      return await createTransmissionClient(createAskTool(network), address).call('torrent-get', { fields: ['name'] });
    } finally {
      network.close();
    }
  };
  const inTools = () => readdir(join(place.dir, 'tools', 'transmission')).catch(() => []);

  it('fetches it to its own folder', { timeout: 120_000 }, async () => {
    const id = await replica.add(`${server.url}/fetched.torrent`, 'Transmission');
    await waitFor('it to be asked for', () => server.requests.some(({ path }) => path.startsWith('/seeds/fetched')), PATIENTLY);
    await transmission.restart();
    isHeld = false;
    await replica.until(id, { state: 2 }, 60_000);
    await waitFor('the file', () => place.fs.files.get('/in/fetched/probe')?.equals(content(1000, 1)), PATIENTLY);
    await waitFor('its folder to go', async () => (await inTools()).length === 0, PATIENTLY);
    isHeld = true;
  });

  it('has nothing of one that is cancelled, and files of others stay', { timeout: 120_000 }, async () => {
    const theirs = join(transmission.downloadDir, 'given-up');
    await mkdir(theirs);
    await writeFile(join(theirs, 'probe'), 'of theirs');
    const id = await replica.add(`${server.url}/given-up.torrent`, 'Transmission');
    await waitFor('it to be asked for', () => server.requests.some(({ path }) => path.startsWith('/seeds/given-up')), PATIENTLY);
    await replica.close();
    await transmission.restart();
    replica = await place.open();
    await replica.cancel(id);
    await replica.until(id, { state: 4 }, 60_000);
    await waitFor('its folder to go', async () => (await inTools()).length === 0, PATIENTLY);
    expect(await namesInIt()).toEqual({ torrents: [] });
    expect(await readFile(join(theirs, 'probe'), 'utf8')).toBe('of theirs');
  });
});
