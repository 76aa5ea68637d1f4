import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCounts } from '../src/open-counts.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { documentsRead } from './documents-read.ts';
import { type Installation, openOwnInstallation } from './installation.ts';

let place: Installation;
beforeAll(async () => {
  place = await openOwnInstallation('open-counts');
});
afterAll(() => place.close());

const AT = new Date('2026-03-01T12:00:00Z');
const TIMES = { run_at: AT, created_at: AT, updated_at: AT, lease_until: AT };

let nowMs = 1_000_000;
const now = () => nowMs;

async function add(count: number): Promise<void> {
  const task = { kind: 'copy', list: 'copy', ...TIMES, state: TASK_STATE.pending, done: false };
  await place.models.tasks.insertMany(Array.from({ length: count }, () => ({ ...task, _id: crypto.randomUUID() })));
}

it('one of many counts, and the others tell what it found for a while', async () => {
  await add(500);
  const copies = (count: number) => [{ kind: 'copy', state: TASK_STATE.pending, count }];
  expect(await openCounts(place.models, now)).toEqual(copies(500));
  await add(100);

  const before = await documentsRead(place.url);
  for (let asked = 0; asked < 20; asked++) expect(await openCounts(place.models, now)).toEqual(copies(500));
  expect((await documentsRead(place.url)) - before).toBeLessThanOrEqual(2 * 20);

  nowMs += 15_000;
  const counted = await documentsRead(place.url);
  const answers = await Promise.all(Array.from({ length: 20 }, () => openCounts(place.models, now)));
  expect(answers).toContainEqual(copies(600));
  expect((await documentsRead(place.url)) - counted).toBeLessThan(2 * 600);
  expect(await openCounts(place.models, now)).toEqual(copies(600));
});

it('rests the longer, the longer counting takes', async () => {
  const { counted_at } = (await place.models.counts.findById('open').lean()) ?? { counted_at: 0 };
  await place.models.counts.updateOne({ _id: 'open' }, { $set: { took_ms: 60_000 } });
  await add(1);
  nowMs = counted_at + 20 * 60_000 - 1;
  expect(await openCounts(place.models, now)).toMatchObject([{ count: 600 }]);
  nowMs += 1;
  expect(await openCounts(place.models, now)).toMatchObject([{ count: 601 }]);
});

it('whoever dies while it counts is followed by another', async () => {
  nowMs += 15_000;
  await place.models.counts.updateOne({ _id: 'open' }, { $set: { counted_at: nowMs } });
  await add(1);
  nowMs += 15_000;
  expect(await openCounts(place.models, now)).toMatchObject([{ count: 602 }]);
});
