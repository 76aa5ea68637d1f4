import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, waitFor } from '@wharf/harness';
import { type Models, modelsOf, raiseCounter, reserveCounter } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type ChangeFeed, createChangeFeed } from '../src/events/change-feed.ts';
import { type ChangeLog, createChangeLog } from '../src/store/change-log.ts';

let models: Models;
let log: ChangeLog;
let feed: ChangeFeed;
let heard: string[];
let now: number;
let close: () => Promise<void>;

beforeEach(async () => {
  const dir = await makeTempDir('changes');
  const store = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  const connection = await connectStore(store.url);
  models = modelsOf(connection);
  log = createChangeLog(models, Date.now);
  heard = [];
  now = 1_000_000;
  const onChange = (paths: readonly string[]) => void heard.push(...paths);
  feed = createChangeFeed({ log, replica: 'here', clock: () => now, onChange, onError: () => undefined });
  await feed.start();
  close = async () => {
    await feed.stop();
    await connection.close();
    await store.stop();
    await dir.remove();
  };
});
afterEach(() => close());

const hear = (path: string) => waitFor(`${path} to be heard`, () => heard.includes(path));
/** A number that whoever drew it never used. */
const lose = () => raiseCounter(models.fsCounters, 'entry-changes');

it('changes are heard once, and not by who made them', async () => {
  await log.append('there', ['/a']);
  await hear('/a');
  await log.append('here', ['/own']);
  await log.append('there', ['/b']);
  await hear('/b');
  expect(heard).toEqual(['/a', '/b']);
});

it('of many changes some are read at a time, and all are heard', async () => {
  const numbers = Array.from({ length: 450 }, (_, index) => index + 1);
  await reserveCounter(models.fsCounters, 'entry-changes', numbers.length);
  await models.entryChanges.insertMany(numbers.map((_id) => ({ _id, replica: 'there', paths: [`/${_id}`], at: new Date() })));
  const found: number[] = [];
  const find = models.entryChanges.collection.find.bind(models.entryChanges.collection);
  vi.spyOn(models.entryChanges.collection, 'find').mockImplementation((filter, options) => {
    found.push(Number(options?.limit));
    return find(filter, options);
  });
  await hear('/450');
  expect(Math.min(...found)).toBeLessThan(numbers.length);
  expect(heard).toEqual(numbers.map((number) => `/${number}`));
});

it('changes are dated by the time of the store, which removes them by it', async () => {
  const at = 86_400_000;
  await createChangeLog(models, () => at).append('there', ['/dated']);
  expect((await Array.fromAsync(log.since(0))).map((change) => change.at.getTime())).toEqual([at]);
});

it('a change that was lost on its way makes everything forgotten, once it cannot come any more', async () => {
  await lose();
  await log.append('there', ['/behind']);
  await hear('/behind');
  expect(heard).toEqual(['/behind']);
  now += 11_000;
  await hear('/');
  await log.append('there', ['/later']);
  await hear('/later');
  expect(heard).toEqual(['/behind', '/', '/later']);
});

it('a change whose process ends before it is written is missed by the others', async () => {
  const ended = { ...log, append: () => new Promise<void>(() => {}) };
  createChangeFeed({ log: ended, replica: 'ended', clock: () => now, onChange: () => {}, onError: () => {} }).note(['/lost']);
  await waitFor('its number to be drawn', async () => (await log.newest()) === 1);
  await log.append('there', ['/behind']);
  await hear('/behind');
  now += 11_000;
  await hear('/');
});

it('a change that follows another one at once is heard of by a replica that has begun between the two', async () => {
  const other = createChangeFeed({ log, replica: 'other', clock: () => now, onChange: () => {}, onError: () => {} });
  other.note(['/first']);
  await waitFor('its number to be drawn', async () => (await log.newest()) === 1);
  const late = createChangeFeed({ log, replica: 'late', clock: () => now, onChange: (paths) => heard.push(...paths), onError: () => {} });
  await late.start();
  heard.length = 0;
  other.note(['/next']);
  await waitFor('both replicas to hear of it', () => heard.filter((path) => path === '/next').length === 2);
  await Promise.all([late.stop(), other.stop()]);
});

it('a change that comes late, behind any number of others, is heard of', async () => {
  const number = await lose();
  for (let count = 0; count < 120; count += 1) await log.append('there', [`/${count}`]);
  await hear('/119');
  await models.entryChanges.create({ _id: number, replica: 'there', paths: ['/late'], at: new Date() });
  await hear('/late');
  now += 11_000;
  await log.append('there', ['/later']);
  await hear('/later');
  expect(heard).not.toContain('/');
});

it('whoever read nothing for longer than that forgets everything: what was missed may be gone from the log', async () => {
  await log.append('there', ['/a']);
  await hear('/a');
  await log.append('there', ['/missed']);
  await models.entryChanges.deleteMany({});
  now += 61_000;
  await hear('/');
});

it('long paths are told by name as long as they are few: what is kept of them for minutes is small', async () => {
  const long = (index: number) => `/${index}${'/x'.repeat(1_000)}`;
  feed.note([long(1)]);
  await waitFor('the first to be written', async () => (await models.entryChanges.countDocuments()) === 1);
  feed.note(Array.from({ length: 100 }, (_, index) => long(index)));
  await waitFor('all to be written', async () => (await models.entryChanges.countDocuments()) === 2);
  const written = await models.entryChanges.find().sort({ _id: 1 }).lean();
  expect(written.map(({ paths }) => paths)).toEqual([[long(1)], ['/']]);
});
