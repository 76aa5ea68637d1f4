import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Composed, SERVICES, startComposed } from '../support/composed.ts';
import { imageOf, prepareImages } from '../support/images.ts';
import { type Load, openLoad } from '../support/load.ts';
import { buildOldImages, type OldImages } from '../support/old-images.ts';
import { workSteps } from '../support/work-steps.ts';

/** Auth and admin are one each in deploy/compose; where an update is to be unnoticed there are two. */
const REPLICAS = { 'auth-2': 'auth', 'admin-2': 'admin' };
const GATEWAYS = SERVICES.filter((name) => name.startsWith('gateway'));
/** In the order of docs/operations.md. */
const BEHIND = ['auth', 'auth-2', 'admin', 'admin-2', 'fs-1', 'fs-2', 'downloader-1', 'downloader-2'];
const CLIENTS = 3;
/** For how long the two versions work together once all are replaced that are to be. */
const TOGETHER_MS = 20_000;

let composed: Composed;
let load: Load;
let old: OldImages;

beforeAll(async () => {
  const { docker, base } = await prepareImages();
  old = await buildOldImages(process.env['WHARF_TEST_OLD'], { docker, base });
  console.info(`the old version is ${old.commit}`);
  const all = [...GATEWAYS, ...BEHIND];
  composed = await startComposed({
    replicas: REPLICAS,
    services: Object.fromEntries(all.map((name) => [name, { image: old.of(name) }])),
  });
  load = await openLoad(composed.balancer.url, composed.adminPassword, (caller) => workSteps(composed, caller));
}, 1_200_000);
afterAll(() => composed?.stop(), 60_000);

const steps: [title: string, services: readonly string[], version: (service: string) => string][] = [
  ['the services are replaced by new ones, and old gateways work with them', BEHIND, imageOf],
  ['the gateways are replaced by new ones', GATEWAYS, imageOf],
  ['the services are replaced by old ones, and new gateways work with them', BEHIND, (service) => old.of(service)],
];

test.each(steps)('%s: no request fails, and what was acknowledged is there', { timeout: 480_000 }, async (title, services, version) => {
  const clients = load.start(CLIENTS);
  for (const service of services) await composed.change(service, { image: version(service) });
  await delay(TOGETHER_MS);
  const { rounds, wrong } = await clients.stop();
  console.info(`${title}: ${rounds} rounds of ${load.stepCount} steps, ${wrong.length} failed\n${wrong.join('\n')}`);
  expect(wrong).toEqual([]);
  await load.expectAcknowledged();
});
