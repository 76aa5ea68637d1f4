import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readExpectations } from '../expectations/expectations.ts';
import { replay } from '../expectations/replay.ts';
import { PROVIDERS, type Provider } from '../support/contracts.ts';
import { type ServiceContainers, startServiceContainers } from '../support/service-containers.ts';

const SECRET = randomBytes(32).toString('hex');
const ADMIN_PASSWORD = randomBytes(12).toString('base64url');
const DATA_PORT = 50_063;
/** fs before admin, which asks it what a first storage looks like. */
const ORDER = ['auth', 'fs', 'admin', 'downloader'] as const;

const expectations = await readExpectations();
const pairs = [...new Set(expectations.map(({ caller, provider }) => `${caller} -> ${provider}`))];
let containers: ServiceContainers;
let wrong: readonly (string | undefined)[] = [];

beforeAll(async () => {
  containers = await startServiceContainers();
  const { nameOf } = containers;
  const source = await containers.startSource();
  const env = {
    ...{ WHARF_SECRET: SECRET, WHARF_ADMIN_PASSWORD: ADMIN_PASSWORD, WHARF_FILES_DIR: '/files', WHARF_EGRESS_ALLOW: nameOf('source') },
    ...Object.fromEntries(ORDER.map((service) => [`WHARF_${service.toUpperCase()}_ADDR`, `${nameOf(service)}:${PROVIDERS[service].port}`])),
    WHARF_FS_DATA_URL: `http://${nameOf('fs')}:${DATA_PORT}`,
  };
  const hosts = new Map<Provider, string>();
  for (const service of ORDER) hosts.set(service, containers.addressOf(await containers.start(service, 'expectations', env)));
  const address = (service: Provider) => `${hosts.get(service)}:${PROVIDERS[service].port}`;
  wrong = await replay(expectations, {
    secret: SECRET,
    addresses: { auth: address('auth'), admin: address('admin'), fs: address('fs'), downloader: address('downloader') },
    dataUrl: `http://${hosts.get('fs')}:${DATA_PORT}`,
    given: { SOURCE: source, SITE: 'http://wharf.test', ADMIN_PASSWORD },
  });
}, 400_000);
afterAll(() => containers?.stop());

test.each(pairs)('%s: every call that the one makes gets the answer that it counts on', (pair) => {
  const own = expectations
    .map((one, index) => ({ ...one, problem: wrong[index] }))
    .filter(({ caller, provider }) => `${caller} -> ${provider}` === pair);
  const counted = own.filter(({ isLoose }) => isLoose !== true);
  expect(counted.length).toBeGreaterThan(0);
  expect(counted.flatMap(({ problem }) => problem ?? [])).toEqual([]);
});
