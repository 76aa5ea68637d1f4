// `npm run soak -- <work>`: what is too long for every day. Each work is bounded by its options; ends with 1 when something did not hold.
import { parseArgs } from 'node:util';
import { ensureCommand, isMissing, startStandalone, unpackNewest } from '@wharf/harness';
import { runOnArm64 } from '../support/arm64.ts';
import { openBrowser } from '../support/browser.ts';
import { runDownloadChaos } from '../support/download-chaos.ts';
import { runKillChaos } from '../support/kill-chaos.ts';
import { runContainerWork, runLongTests } from '../support/long-tests.ts';
import { LONG_SHAPES, LONG_STORAGES, runLongUploads } from '../support/long-uploads.ts';
import { measurePageFigures } from '../support/page-figures.ts';
import { openPageWorld } from '../support/page-world.ts';
import { repeatProperties } from '../support/repeat-properties.ts';
import { runSchemaFuzz } from '../support/schema-fuzz.ts';
import { UPLOAD_WAYS } from '../support/upload-chaos.ts';
import { openWorld } from '../support/world.ts';

const USAGE = `usage: npm run soak -- <work> [options]
  kills       kill -9 under mixed load           --kills 30 --shape standalone|services|both
  downloads   downloaders, killed in turns       --replicas 3 --files 200 --max-mib 8 --seconds 120 --every 5 --rate 60000
  schema      requests of every operation        --cases 30 --seed <number>
  properties  all property tests, again          --times 20
  suites      every rule for every server that rclone reaches, and its kills --rclone installed|newest
  uploads     big uploads while all is killed    --upload-mib 4096 --shape standalone|services|both --storages Local,S3,SFTP
                                                 --ways tus,parts
  crowd       many uploads in parts at once      --crowd 20,10,20: users, uploads of each, MiB of each
  uppy        a big file by Uppy in a browser    --upload-mib 4096
  page        what the page costs where it is dearest --times 5
  page-upload a big file from the page, cut      --upload-mib 4096
  composed    all scenarios, and the checks of the API family, against the composed containers (root, Debian)
  mixed       an earlier version beside this one, under load (root, Debian) --old <commit>: the last release
  throughput  one, two and four downloaders on one queue (root, Debian)
  arm64       standalone on an emulated arm64 (Debian)
  queue       a long queue, 20 workers, store and bus restarted; a tenth of it on a real engine --tasks 100000
  pairs       big trees between all kinds of storages, kills --files 500 --cancelled 1000 --download-mib 1024`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: 'string', default: '30' },
    shape: { type: 'string', default: 'both' },
    old: { type: 'string', default: '' },
    replicas: { type: 'string', default: '3' },
    files: { type: 'string' },
    'upload-mib': { type: 'string', default: '4096' },
    storages: { type: 'string', default: LONG_STORAGES.join() },
    ways: { type: 'string', default: UPLOAD_WAYS.join() },
    crowd: { type: 'string', default: '20,10,20' },
    tasks: { type: 'string', default: '100000' },
    cancelled: { type: 'string', default: '1000' },
    'download-mib': { type: 'string', default: '1024' },
    'max-mib': { type: 'string', default: '8' },
    seconds: { type: 'string', default: '120' },
    every: { type: 'string', default: '5' },
    rate: { type: 'string', default: '60000' },
    cases: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    times: { type: 'string', default: '20' },
    rclone: { type: 'string', default: 'installed' },
  },
});
const tell = (text: string) => console.error(text);
const print = (report: unknown) => console.log(JSON.stringify(report, undefined, 2));

/** What the gateways and the fs may take for uploads, in MiB. */
const MOST_MEMORY_MIB = 64;

/** What is reached by rclone, and rclone itself. */
const RCLONE_TESTS = [
  'services/fs/src/drivers/rclone/',
  'services/fs/test/rclone/',
  'services/fs/test/smb/',
  'services/fs/test/crypt-rclone.test.ts',
];

/** What is between storages: trees, what is cut and cancelled, and downloads into them. */
const PAIR_TESTS = ['storage-pairs', 'remote-storages', 'downloads-to-parts'].map((name) => `test/e2e/${name}.e2e.test.ts`);

const QUEUE_TESTS = ['long-queue', 'real-engine'].map((name) => `packages/task-engine/test/${name}.test.ts`);

/** What the page may take at its dearest, in milliseconds. */
const MOST_PAGE_MS = { task: 50, layout: 16.7, firstListing: 1_000 };

/** Each answers whether everything held. */
const WORKS: Readonly<Record<string, () => Promise<boolean>>> = {
  kills,
  downloads,
  uploads,
  schema,
  properties: () => repeatProperties(Number(values.times), tell),
  suites,
  crowd: () => runLongTests(['test/e2e/upload-crowd.e2e.test.ts'], { WHARF_E2E_UPLOADS: values.crowd }),
  uppy: () => runLongTests(['test/e2e/uppy.e2e.test.ts'], { WHARF_E2E_UPPY_MIB: values['upload-mib'] }),
  page,
  composed: () => runContainerWork('composed'),
  mixed: () => runContainerWork('mixed', { WHARF_TEST_OLD: values.old }),
  arm64: async () => (await runOnArm64(tell)) > 0,
  queue: () =>
    runLongTests(QUEUE_TESTS, { WHARF_TEST_TASKS: values.tasks, WHARF_TEST_ENGINE_TASKS: String(Math.ceil(Number(values.tasks) / 10)) }),
  throughput: () => runContainerWork('throughput'),
  'page-upload': () => runLongTests(['test/e2e/page-upload.e2e.test.ts'], { WHARF_E2E_PAGE_UPLOAD_MIB: values['upload-mib'] }),
  pairs: () =>
    runLongTests(PAIR_TESTS, {
      WHARF_E2E_PAIRS: 'all',
      WHARF_E2E_FILES: values.files ?? '500',
      WHARF_E2E_CANCELLED: values.cancelled,
      WHARF_E2E_DOWNLOAD_MIB: values['download-mib'],
    }),
};

const work = WORKS[positionals[0] ?? ''];
if (work === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else process.exitCode = (await work()) ? 0 : 1;

/** With rclone as it is installed, or with the newest that Debian has. */
async function suites(): Promise<boolean> {
  const instead: Record<string, string> = {};
  if (values.rclone === 'newest') {
    const [newest, installed] = [await unpackNewest('rclone'), await ensureCommand('rclone', 'rclone')];
    if (isMissing(newest)) throw new Error(newest.missing);
    if (isMissing(installed)) throw new Error(installed.missing);
    instead[installed.path] = `${newest.path}/usr/bin/rclone`;
  }
  return runLongTests(RCLONE_TESTS, { WHARF_LONG_SUITES: '1' }, instead);
}

async function kills(): Promise<boolean> {
  let holds = true;
  for (const shape of ['standalone', 'services'] as const) {
    if (values.shape !== 'both' && values.shape !== shape) continue;
    const report = await runKillChaos({ shape, kills: Number(values.kills), tell });
    print({ shape, ...report });
    holds &&= report.faults.length + report.debris.length === 0;
  }
  return holds;
}

async function schema(): Promise<boolean> {
  const world = await openWorld(startStandalone);
  try {
    const report = await runSchemaFuzz(world, { cases: Number(values.cases), seed: Number(values.seed) });
    print({ seed: values.seed, ...report });
    return report.faults.length === 0;
  } finally {
    await world.close();
  }
}

async function uploads(): Promise<boolean> {
  const [storages, ways] = [values.storages.split(','), values.ways.split(',')];
  const reports = await runLongUploads({
    sizeMib: Number(values['upload-mib']),
    shapes: LONG_SHAPES.filter((shape) => values.shape === 'both' || values.shape === shape),
    storages: LONG_STORAGES.filter((storage) => storages.includes(storage)),
    ways: UPLOAD_WAYS.filter((way) => ways.includes(way)),
    tell,
  });
  print(reports);
  return reports.every(
    ({ isIdentical, sentBytes, allowedBytes, memoryMib }) =>
      isIdentical && sentBytes <= allowedBytes && Object.values(memoryMib).every((mib) => mib <= MOST_MEMORY_MIB),
  );
}

async function page(): Promise<boolean> {
  const browser = await openBrowser();
  if (isMissing(browser)) throw new Error(browser.missing);
  const world = await openPageWorld(browser);
  try {
    const figures = await measurePageFigures(browser, world, Number(values.times));
    print(figures);
    return (
      figures.firstListingMs < MOST_PAGE_MS.firstListing &&
      figures.scrolled.every(
        ({ longestTaskMs, longestLayoutMs }) => longestTaskMs < MOST_PAGE_MS.task && longestLayoutMs < MOST_PAGE_MS.layout,
      )
    );
  } finally {
    await browser.close();
    await world.close();
  }
}

async function downloads(): Promise<boolean> {
  const report = await runDownloadChaos({
    replicas: Number(values.replicas),
    files: Number(values.files ?? 200),
    maxFileBytes: Number(values['max-mib']) * 1024 * 1024,
    killEveryMs: Number(values.every) * 1000,
    killForMs: Number(values.seconds) * 1000,
    restartsBus: true,
    restartsStore: true,
    bytesPerSecond: Number(values.rate),
    tell,
  });
  print(report);
  const againMib = (report.fetchedBytes - report.contentBytes) / 1024 ** 2 / Math.max(1, report.kills);
  tell(`${report.arrived} of ${report.files} files arrived, ${againMib.toFixed(1)} MiB fetched again for each kill`);
  return report.arrived === report.files && report.surplus.length + report.debris.length + report.failed.length === 0;
}
