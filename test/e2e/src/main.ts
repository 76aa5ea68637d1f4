// `npm run soak -- <work>`: what is too long for every day. Each work is bounded by its options; ends with 1 when something did not hold.
import { parseArgs } from 'node:util';
import { startStandalone } from '@wharf/harness';
import { runDownloadChaos } from '../support/download-chaos.ts';
import { runKillChaos } from '../support/kill-chaos.ts';
import { runLongPairs } from '../support/long-pairs.ts';
import { repeatProperties } from '../support/repeat-properties.ts';
import { runSchemaFuzz } from '../support/schema-fuzz.ts';
import { openWorld } from '../support/world.ts';

const USAGE = `usage: npm run soak -- <work> [options]
  kills       kill -9 under mixed load           --kills 30 --shape standalone|services|both
  downloads   downloaders, killed in turns       --replicas 3 --files 200 --max-mib 8 --seconds 120 --every 5 --rate 60000
  schema      requests of every operation        --cases 30 --seed <number>
  properties  all property tests, again          --times 20
  pairs       big trees between all storages     --files 500 --cancelled 1000 --download-mib 1024`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: 'string', default: '30' },
    shape: { type: 'string', default: 'both' },
    replicas: { type: 'string', default: '3' },
    files: { type: 'string' },
    cancelled: { type: 'string', default: '1000' },
    'download-mib': { type: 'string', default: '1024' },
    'max-mib': { type: 'string', default: '8' },
    seconds: { type: 'string', default: '120' },
    every: { type: 'string', default: '5' },
    rate: { type: 'string', default: '60000' },
    cases: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    times: { type: 'string', default: '20' },
  },
});
const tell = (text: string) => console.error(text);
const print = (report: unknown) => console.log(JSON.stringify(report, undefined, 2));

/** Each answers whether everything held. */
const WORKS: Readonly<Record<string, () => Promise<boolean>>> = {
  kills,
  downloads,
  schema,
  properties: () => repeatProperties(Number(values.times), tell),
  pairs: () => runLongPairs({ files: values.files ?? '500', cancelled: values.cancelled, downloadMib: values['download-mib'] }),
};

const work = WORKS[positionals[0] ?? ''];
if (work === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else process.exitCode = (await work()) ? 0 : 1;

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
