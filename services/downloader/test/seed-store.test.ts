import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { connectStore } from '@wharf/service-kit';
import { holdBackup } from '@wharf/task-engine';
import { expect, it, onTestFinished } from 'vitest';
import { createSeedStore } from '../src/store/seed-store.ts';
import { documentsRead } from './documents-read.ts';

const at = (ms: number) => new Date(ms);
const toolsDir = '/tools';

/** The seeds of a store of its own, which the test closes as it ends. */
async function openSeeds() {
  const dir = await makeTempDir('seed-store');
  const store = await startEmbeddedMongo({ dataDir: dir.path });
  const connection = await connectStore(store.url);
  onTestFinished(async () => {
    await connection.close();
    await store.stop();
    await dir.remove();
  });
  return { connection, seeds: createSeedStore(connection) };
}

it("a torrent whose time is over is one keeper's for a while, and is forgotten only when nothing else was left to it", async () => {
  const { seeds } = await openSeeds();
  await seeds.init();
  await seeds.add({ taskId: 'task-1', tool: 'aria2', toolId: 'gid', toolsDir, removeAt: at(100) });
  await seeds.add({ taskId: 'task-2', tool: 'aria2', toolId: 'stays', toolsDir, removeAt: undefined });
  expect(await seeds.takeDue('aria2', at(99), at(500))).toBeUndefined();
  expect(await seeds.takeDue('Transmission', at(100), at(500))).toBeUndefined();
  const taken = await Promise.all([1, 2, 3, 4].map(() => seeds.takeDue('aria2', at(100), at(500))));
  const [seed, ...others] = taken.filter((each) => each !== undefined);
  expect([seed, others]).toMatchObject([{ _id: 'task-1', tool_id: 'gid', tools_dir: toolsDir, left_files: [] }, []]);
  if (!seed) throw new Error('nobody got it');
  // A transfer ends meanwhile, and leaves its file to whoever ends the seeding.
  expect(await seeds.leaveFile('task-1', 'film')).toBe(true);
  expect(await seeds.end(seed)).toBe(false);
  // So it is there for the next keeper, as when this one had died.
  const again = await seeds.takeDue('aria2', at(500), at(900));
  expect(again).toMatchObject({ _id: 'task-1', left_files: ['film'] });
  expect(again && (await seeds.end(again))).toBe(true);
  expect(await seeds.takeDue('aria2', at(10_000), at(20_000))).toBeUndefined();
  expect(await seeds.leaveFile('task-1', 'film')).toBe(false);
  // One that stays for ever is given up, and one that nobody noted.
  for (const taskId of ['task-2', 'task-3']) await seeds.endNow(taskId, at(20_000));
  expect(await seeds.takeDue('aria2', at(20_000), at(50_000))).toMatchObject({ _id: 'task-2' });
  expect(await seeds.takeDue('aria2', at(20_000), at(50_000))).toBeUndefined();
  // What was given up while its tool was away is due until it is tried again.
  for (const taskId of ['task-4', 'task-5']) await seeds.giveUp({ taskId, tool: 'aria2', toolId: '', toolsDir, removeAt: at(60_000) });
  for (const taskId of ['task-2', 'task-4']) await seeds.takeBack(taskId);
  const givenUp = await seeds.takeDue('aria2', at(60_000), at(90_000));
  expect(givenUp).toMatchObject({ _id: 'task-2' });
  const left = await seeds.takeDue('aria2', at(60_000), at(90_000));
  expect(left).toMatchObject({ _id: 'task-5', tool_id: '', is_given_up: true });
  // One that was tried again, and came, while its keeper waited for the tool: its files are still to be stored.
  await seeds.takeBack('task-5');
  await seeds.add({ taskId: 'task-5', tool: 'aria2', toolId: 'e', toolsDir, removeAt: at(70_000) });
  expect(left && (await seeds.end(left))).toBe(false);
  // And the other way round: all of its folder is to go.
  const seeded = await seeds.takeDue('aria2', at(80_000), at(90_000));
  await seeds.giveUp({ taskId: 'task-5', tool: 'aria2', toolId: 'e', toolsDir, removeAt: at(70_000) });
  expect(seeded && (await seeds.end(seeded))).toBe(false);
  const givenUpSince = await seeds.takeDue('aria2', at(80_000), at(90_000));
  expect(givenUpSince && (await seeds.end(givenUpSince))).toBe(true);
  // While its folder is removed it is not tried again, also where its keeper ends over that.
  await seeds.giveUp({ taskId: 'task-7', tool: 'aria2', toolId: 'g', toolsDir, removeAt: at(1_000) });
  const going = await seeds.takeDue('aria2', at(2_000), at(3_000));
  expect(going && (await seeds.beginRemoval(going))).toBe(true);
  expect(await seeds.takeBack('task-7')).toBe(false);
  const goingOn = await seeds.takeDue('aria2', at(3_000), at(4_000));
  expect(goingOn && (await seeds.beginRemoval(goingOn))).toBe(true);
  expect(goingOn && (await seeds.end(goingOn))).toBe(true);
  expect(await seeds.takeBack('task-7')).toBe(true);
  // And what was taken back keeps its folder.
  await seeds.giveUp({ taskId: 'task-8', tool: 'aria2', toolId: 'h', toolsDir, removeAt: at(1_000) });
  const late = await seeds.takeDue('aria2', at(2_000), at(3_000));
  expect(await seeds.takeBack('task-8')).toBe(true);
  expect(late && (await seeds.beginRemoval(late))).toBe(false);
  // One that waits longer, but not where it was noted anew since it was taken.
  await seeds.add({ taskId: 'task-6', tool: 'aria2', toolId: 'f', toolsDir, removeAt: at(1_000) });
  expect(await seeds.takeDue('aria2', at(2_000), at(3_000))).toMatchObject({ _id: 'task-6' });
  await seeds.postpone('task-6', at(3_000), at(50_000));
  expect(await seeds.takeDue('aria2', at(4_000), at(5_000))).toBeUndefined();
  await seeds.endNow('task-6', at(4_000));
  await seeds.postpone('task-6', at(50_000), at(80_000));
  const last = await seeds.takeDue('aria2', at(4_000), at(5_000));
  expect(last).toMatchObject({ _id: 'task-6' });
  expect(last && (await seeds.end(last))).toBe(true);
  expect(await seeds.takeDue('aria2', at(60_000), at(90_000))).toBeUndefined();
});

it('those of a backup stay in their tools until somebody ends or tries them again: by now they may be of another download', async () => {
  const { connection, seeds } = await openSeeds();
  await seeds.init();
  await seeds.add({ taskId: 'seeding', tool: 'aria2', toolId: 'a', toolsDir, removeAt: at(100) });
  for (const taskId of ['given-up', 'going']) await seeds.giveUp({ taskId, tool: 'aria2', toolId: '', toolsDir, removeAt: at(200) });
  for (const _ of ['seeding', 'given-up']) await seeds.takeDue('aria2', at(300), at(900));
  const going = await seeds.takeDue('aria2', at(300), at(900));
  expect(going && (await seeds.beginRemoval(going))).toBe(true);
  await holdBackup(connection);
  expect(await seeds.takeDue('aria2', at(1_000), at(2_000))).toBeUndefined();
  for (const taskId of ['given-up', 'going']) expect(await seeds.takeBack(taskId)).toBe(true);
  await seeds.endNow('seeding', at(1_000));
  expect(await seeds.takeDue('aria2', at(1_000), at(2_000))).toMatchObject({ _id: 'seeding' });
});

it('of what is due the seeds of one tool are looked at, however many wait for another one that is away', async () => {
  const { connection, seeds } = await openSeeds();
  const known = connection.collection('download_seeds');
  // As an earlier version had it: it would be kept with every write.
  await known.createIndex({ remove_at: 1 });
  await seeds.init();
  expect(Object.keys(await known.indexInformation()).sort()).toEqual(['_id_', 'tool_1_remove_at_1']);
  for (let count = 0; count < 100; count += 1)
    await seeds.giveUp({ taskId: `away-${count}`, tool: 'aria2', toolId: '', toolsDir, removeAt: at(count) });
  await seeds.add({ taskId: 'task', tool: 'Transmission', toolId: 'hash', toolsDir, removeAt: at(200) });
  const from = await documentsRead(connection);
  expect(await seeds.takeDue('Transmission', at(300), at(500))).toMatchObject({ _id: 'task' });
  expect(await seeds.takeDue('Transmission', at(300), at(500))).toBeUndefined();
  expect((await documentsRead(connection)) - from).toBeLessThan(10);
});
