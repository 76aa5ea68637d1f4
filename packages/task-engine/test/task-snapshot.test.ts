import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, type TaskEngine } from '../src/index.ts';
import { createTaskSnapshots, type TaskSnapshots } from '../src/task-snapshot.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, BOB, EVERYBODY, type Installation, openInstallation } from './installation.ts';

/** Longer than anybody needs, as an address may be. */
const LONG_NAME = 'x'.repeat(8_000);
/** Reads for what a stream holds until its client takes something. */
const HELD = 300;

const idle = defineTaskKind({
  name: 'idle',
  input: z.object({}),
  maxRetries: 0,
  run: async () => {},
});

let dir: TempDir;
let embedded: EmbeddedMongo;
let place: Installation;
let engine: TaskEngine;
let snapshots: TaskSnapshots;
beforeAll(async () => {
  dir = await makeTempDir('task-snapshot');
  embedded = await startEmbeddedMongo({ dataDir: dir.path });
});
beforeEach(async () => {
  place = await openInstallation(embedded.url);
  engine = await place.open([idle]);
  // It works no more, so that nothing but the snapshots reads tasks.
  await engine.stop();
  snapshots = createTaskSnapshots([place.models]);
});
afterEach(() => place.close());
afterAll(async () => {
  await embedded?.stop();
  await dir?.remove();
});

const add = (count: number, creator = ANN, name = LONG_NAME) =>
  engine.addAll(
    idle,
    Array.from({ length: count }, () => ({ name, creator, input: {} })),
  );
const whole = async (scope: { creatorId: number | undefined }) => {
  let text = '';
  for await (const piece of snapshots.of(scope)) text += piece;
  return z.array(z.object({ id: z.string(), name: z.string() })).parse(JSON.parse(text));
};

it('a snapshot has the tasks that its watcher may see, the newest first and each once', async () => {
  expect(await whole({ creatorId: ANN.id })).toEqual([]);
  const anns = await add(130);
  const bobs = await add(70, BOB);
  // Made in the same moment, more of them than are read at a time.
  await place.models.tasks.updateMany({ creator_id: BOB.id }, { created_at: new Date() });
  const [last] = await add(1);
  // Tasks of one call are dated a millisecond apart, so that these 130 may reach beyond the moment of the next call.
  await place.models.tasks.updateOne({ _id: last?._id ?? '' }, { created_at: new Date(Date.now() + 1_000) });
  await engine.apply('cancel', [anns[5]?._id ?? ''], 'idle', EVERYBODY);
  const ids = async (creatorId: number | undefined) => (await whole({ creatorId })).map(({ id }) => id);
  const annsNewestFirst = [last, ...anns.toReversed()].map((task) => task?._id);
  expect(await ids(ANN.id)).toEqual(annsNewestFirst);
  expect((await ids(BOB.id)).toSorted()).toEqual(bobs.map(({ _id }) => _id).toSorted());
  const all = await ids(undefined);
  expect([all.length, new Set(all).size]).toEqual([201, 201]);
});

it('what a stream holds whose client takes nothing does not grow with what there is', async () => {
  for (const count of [200, 200, 400]) {
    await add(count);
    const before = await documentsRead(embedded.url);
    const pieces: string[] = [];
    for (let stream = 0; stream < 3; stream += 1) {
      const { value } = await snapshots.of({ creatorId: ANN.id }).next();
      pieces.push(value ?? '');
    }
    expect((await documentsRead(embedded.url)) - before).toBeLessThan(HELD);
    for (const piece of pieces) expect(piece.length).toBeLessThan(32 * 1024);
  }
});

it('streams that begin together share what is read', async () => {
  await add(1_000);
  const costOf = async (count: number) => {
    const before = await documentsRead(embedded.url);
    await Promise.all(Array.from({ length: count }, () => whole({ creatorId: ANN.id })));
    return (await documentsRead(embedded.url)) - before;
  };
  expect(await costOf(20)).toBeLessThan(5 * (await costOf(1)));
});
