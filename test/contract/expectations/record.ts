// `npm run expectations`: goes on a tour of five processes twice, and writes down what each service asks of the others and what it gets. What a third Wharf
// does not answer so is no expectation, and is told.
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Cluster, startCluster } from '../../e2e/support/cluster.ts';
import { servicePorts } from '../../e2e/support/service-ports.ts';
import { type Expectation, expectationsOf, type Tour, writeExpectations } from './expectations.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import { replay } from './replay.ts';
import { goOnTour, type TourOf } from './tour.ts';

/** Bytes are sent under the token of a login. */
const NOBODY = { kind: 'service', name: 'client' } as const;

/** Services that nobody has used; the gateway is for others to start. */
interface Running extends Pick<Cluster, 'adminPassword' | 'start'> {
  readonly env: Readonly<Record<string, string>>;
  readonly sourceUrl: string;
  readonly recorder: Recorder;
}

const { expectations, left } = expectationsOf(await withServices(record), await withServices(record));
const wrong = await withServices((running) => verify(running, expectations));
const kept = expectations.map((one, index) => ({ ...one, ...(wrong[index] !== undefined && { isLoose: true }) }));
await writeExpectations(kept);
const pairs = new Set(kept.map(({ caller, provider }) => `${caller} -> ${provider}`));
console.error(`${kept.length} calls of ${pairs.size} pairs of services: ${[...pairs].join(', ')}`);
if (left.size > 0) console.error(`too big, so not written: ${[...left].join(', ')}`);
for (const problem of wrong) if (problem !== undefined) console.error(`not the same each time, so any answer will do: ${problem}`);

async function withServices<T>(use: (running: Running) => Promise<T>): Promise<T> {
  const source = createServer((_request, response) => response.writeHead(200, { 'Content-Length': 0 }).end());
  await once(source.listen(0, '127.0.0.1'), 'listening');
  const sourceUrl = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
  const all = await startCluster('expectations', async (cluster) => cluster);
  const recorder = await startRecorder(String(all.env['WHARF_SECRET']));
  const { addresses, own } = await servicePorts();
  recorder.setOut(addresses);
  const folder = (name: string) => join(all.dir, name);
  const folders = {
    WHARF_FILES_DIR: folder('files'),
    WHARF_SCRATCH_DIR: folder('scratch'),
    WHARF_TOOLS_DIR: folder('tools'),
    WHARF_DATA_DIR: folder('data'),
  };
  const env = { ...all.env, ...addresses, ...folders, WHARF_EGRESS_ALLOW: '127.0.0.1' };
  try {
    await mkdir(folder('files'));
    for (const service of ['auth', 'fs', 'admin', 'downloader'] as const) {
      const told = service === 'auth' ? {} : recorder.addressesFor(service);
      await all.start(`services/${service}`, { ...env, ...told, ...own[service] });
    }
    return await use({ ...all, env, sourceUrl, recorder });
  } finally {
    await all.stop();
    await recorder.stop();
    source.close();
  }
}

async function record({ start, env, adminPassword, sourceUrl, recorder }: Running): Promise<Tour> {
  const aside = (await start('services/api-gateway', { ...env, WHARF_HTTP_PORT: '0' })).ready;
  const base = (await start('services/api-gateway', { ...env, ...recorder.addressesFor('gateway'), WHARF_HTTP_PORT: '0' })).ready;
  const noteBytes: TourOf['noteBytes'] = (request, ok) =>
    recorder.calls.push({
      caller: 'gateway',
      provider: 'fs',
      client: 'bytes',
      method: request.method,
      identity: NOBODY,
      request,
      answer: { ok },
    });
  await goOnTour({ base, aside, adminPassword, sourceUrl, noteBytes });
  return { calls: [...recorder.calls], given: { SOURCE: sourceUrl, SITE: base, ADMIN_PASSWORD: adminPassword } };
}

function verify({ env, adminPassword, sourceUrl }: Running, all: readonly Expectation[]): Promise<readonly (string | undefined)[]> {
  const address = (service: string) => String(env[`WHARF_${service}_ADDR`]);
  return replay(all, {
    secret: String(env['WHARF_SECRET']),
    addresses: { auth: address('AUTH'), admin: address('ADMIN'), fs: address('FS'), downloader: address('DOWNLOADER') },
    dataUrl: String(env['WHARF_FS_DATA_URL']),
    given: { SOURCE: sourceUrl, SITE: 'http://wharf.test', ADMIN_PASSWORD: adminPassword },
  });
}
