import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMissing, startDocumentDb } from '@wharf/harness';
import mongoose from 'mongoose';
import { alignColumns } from './align-columns.ts';
import { ROLES, type Role, startManyReplicas } from './scale/many-replicas.ts';
import { PHASES } from './scale/phases.ts';
import type { Passed } from './scale/store-meter.ts';

/** What docs/scaling.md reckons with. */
const TARGET: Readonly<Record<Role, number>> = { 'api-gateway': 100, auth: 10, admin: 2, fs: 50, downloader: 200 };
/** So many users have a quota. */
const QUOTAS = 2_000;
/** Kinds of commands that are shown of each service. */
const SHOWN = 4;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    gateways: { type: 'string', default: '3' },
    fs: { type: 'string', default: '3' },
    downloaders: { type: 'string', default: '6' },
    engine: { type: 'string', default: 'documentdb' },
  },
});
const stopping: (() => Promise<void>)[] = [];
try {
  await simulate();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  for (const stop of stopping.reverse()) await stop().catch((error: unknown) => console.error(error));
}

async function simulate(): Promise<void> {
  const seconds = Number(values.seconds);
  const counts = {
    'api-gateway': Number(values.gateways),
    auth: 1,
    admin: 1,
    fs: Number(values.fs),
    downloader: Number(values.downloaders),
  };
  if (![seconds, ...Object.values(counts)].every((value) => Number.isInteger(value) && value > 0)) {
    throw new Error('--seconds, --gateways, --fs and --downloaders are whole numbers of at least 1');
  }
  const engine = await startEngine(values.engine);
  console.error(`starting ${Object.values(counts).reduce((sum, count) => sum + count)} services`);
  const replicas = await startManyReplicas(counts, engine);
  stopping.push(replicas.stop);
  await addQuotas(replicas.storeUrl);
  for (const phase of PHASES) {
    console.error(phase.name);
    const end = await phase.begin(replicas);
    await delay(2_000);
    replicas.take();
    await delay(seconds * 1_000);
    const passed = replicas.take();
    await end();
    console.log(`\n${phase.name}\n`);
    console.log(table(passed, counts, seconds));
  }
}

/** @returns its address; undefined: each cluster has an embedded one */
async function startEngine(name: string): Promise<string | undefined> {
  if (name === 'embedded') return undefined;
  if (name !== 'documentdb') throw new Error('--engine is embedded or documentdb');
  const engine = await startDocumentDb();
  if (isMissing(engine)) throw new Error(`${engine.missing}; or use --engine embedded`);
  stopping.push(engine.stop);
  return Object.assign(new URL(engine.url), { pathname: '/scale' }).href;
}

/** Users who cannot log in, with quotas of their own. */
async function addQuotas(storeUrl: string): Promise<void> {
  const connection = await mongoose.createConnection(storeUrl).asPromise();
  try {
    const users = connection.db?.collection<Record<string, unknown> & { _id: number }>('users');
    const sample = await users?.findOne({ username: 'guest' });
    if (!users || !sample) throw new Error('there is no guest to copy');
    const copies = Array.from({ length: QUOTAS }, (_, index) => ({
      ...sample,
      _id: 1_000 + index,
      username: `user-${index}`,
      username_key: `user-${index}`,
      quota_bytes: 1_000_000_000,
    }));
    await users.insertMany(copies);
  } finally {
    await connection.close();
  }
}

function table(
  passed: Readonly<Record<Role, ReadonlyMap<string, Passed>>>,
  counts: Readonly<Record<Role, number>>,
  seconds: number,
): string {
  const each = (value: number, role: Role) => value / counts[role] / seconds;
  const rows = ROLES.flatMap((role) => {
    const kinds = [...passed[role]].sort(([, left], [, right]) => right.commands + right.documents - left.commands - left.documents);
    const sum = (field: keyof Passed) => kinds.reduce((total, [, one]) => total + one[field], 0);
    const line = (what: string, { commands, documents }: Passed, target: string) => [
      what,
      '',
      each(commands, role).toFixed(2),
      each(documents, role).toFixed(2),
      target,
    ];
    const total = { commands: sum('commands'), documents: sum('documents') };
    const atTarget = `${Math.round(each(total.commands, role) * TARGET[role])} commands, ${Math.round(each(total.documents, role) * TARGET[role])} documents`;
    return [
      line(`${counts[role]} x ${role}`, total, `${TARGET[role]}: ${atTarget}`),
      ...kinds.slice(0, SHOWN).map(([what, one]) => line(`  ${what}`, one, '')),
    ];
  });
  return alignColumns([['service', '', 'commands/s each', 'documents/s each', 'so many would ask, each second'], ...rows]);
}
