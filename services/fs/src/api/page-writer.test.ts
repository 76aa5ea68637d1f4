import { setImmediate } from 'node:timers/promises';
import { createPace, type Pace } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { locate, type Snapshot } from '../domain/snapshot/snapshot.ts';
import { actor, openTree, vpath } from '../domain/testing/memory-tree.ts';
import { usedBytes } from '../domain/testing/used-bytes.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { createPageWriter } from './page-writer.ts';

/** How often an entry was written. */
let looks = 0;
const entryOf = (name: string): Entry => ({
  name: name as EntryName,
  isDirectory: false,
  modifiedAt: new Date(0),
  get sizeBytes() {
    looks += 1;
    return 1;
  },
});
const ENTRIES: readonly Entry[] = [entryOf('a.txt')];

/** Writes the same entries again and again, each time for somebody who is another object, as each request has one. */
async function openPages() {
  const { snapshot } = await openTree({ storages: [{ enable_sign: true }], rules: [{ path: '/a.txt', read_users: [7] }] });
  const pages = createPageWriter();
  const { mount } = locate(snapshot, vpath('/'));
  const frame = (who: Parameters<typeof actor>[0], rest: { password?: string; siteUrl?: string }) => ({
    snapshot,
    mount,
    directory: vpath('/'),
    caller: { actor: actor(who), password: '', siteUrl: 'http://here', ...rest },
  });
  const write = (who = {}, rest = {}, entries = ENTRIES, pace: Pace = createPace(), whole?: object) =>
    Array.fromAsync(pages.write(entries, frame(who, rest), pace, whole));
  return Object.assign(write, { find: (whole: object, who = {}, rest = {}) => pages.find(whole, frame(who, rest)) });
}

describe('the texts of a page', () => {
  it('are written once for the same reader', async () => {
    const write = await openPages();
    const first = await write();
    const before = looks;
    expect(await write()).toEqual(first);
    expect(looks).toBe(before);
  });

  it.each([
    ['user', { id: 8 }, {}],
    ['role', { role: 2 }, {}],
    ['bits', { permission: 0 }, {}],
    ['root', { basePath: vpath('/x') }, {}],
    ['password', {}, { password: 'x' }],
    ['address', {}, { siteUrl: 'http://there' }],
  ])('are written anew for another %s', async (_what, who, rest) => {
    const write = await openPages();
    await write();
    const before = looks;
    await write(who, rest);
    expect(looks).toBe(before + 1);
  });

  it('have no signature for whom the file is closed to, whoever read them before', async () => {
    const write = await openPages();
    expect(String((await write())[0])).toMatch(/"sign":"[^"]+:0"/);
    expect(String((await write({ id: 8 }))[0])).toContain('"sign":""');
  });

  it('of a whole folder are found again by what stands for it, for the same reader', async () => {
    const write = await openPages();
    const whole = {};
    expect(write.find(whole)).toBeUndefined();
    const texts = await write({}, {}, ENTRIES, createPace(), whole);
    expect(write.find(whole)).toEqual(texts);
    expect(write.find({})).toBeUndefined();
    for (const [who, rest] of [[{ id: 8 }], [{}, { password: 'x' }]]) expect(write.find(whole, who, rest)).toBeUndefined();
  });

  it('of whole folders take no more memory than they may', async () => {
    const write = await openPages();
    const wholes = Array.from({ length: 20 }, () => ({}));
    const entries = Array.from({ length: 6_000 }, (_, index) => entryOf(`${'n'.repeat(200)}${index}.txt`));
    for (const whole of wholes) await write({}, {}, entries, createPace(), whole);
    const bytes = wholes.flatMap((whole) => write.find(whole) ?? []).reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(write.find(wholes.at(-1) ?? {})).toBeDefined();
    expect(write.find(wholes[0] ?? {})).toBeUndefined();
  });

  it('with long addresses are not kept of entries that nobody counts', async () => {
    const write = await openPages();
    const entries: readonly Entry[] = [{ ...entryOf('a.jpg'), hasThumbnail: true }];
    for (const [siteUrl, isKept] of [['http://here', true] as const, [`http://${'here.'.repeat(1_000)}`, false] as const]) {
      const [text] = await write({}, { siteUrl }, entries);
      expect(String(text)).toContain(`"thumb":"${siteUrl}/d/a.jpg?`);
      expect((await write({}, { siteUrl }, entries))[0] === text).toBe(isKept);
    }
  });

  it.each([6_000, 12_000, 24_000])('of %i entries leave room for others after every hundred', async (count) => {
    const write = await openPages();
    const entries = Array.from({ length: count }, (_, index) => entryOf(`${index}.txt`));
    const stretches: number[] = [];
    let before = looks;
    const step = async () => {
      stretches.push(looks - before);
      before = looks;
    };
    const texts = await write({}, {}, entries, { step });
    expect(texts).toHaveLength(count / 1_000);
    expect(JSON.parse(`[${texts.join(',')}]`)).toHaveLength(count);
    expect([Math.max(...stretches), stretches.length]).toEqual([100, count / 100]);
  });
});

it('what was written of folders keeps none of the configurations that it was written under (C18)', async () => {
  const { snapshot } = await openTree({ storages: [{}] });
  const { mount } = locate(snapshot, vpath('/'));
  const caller = { actor: actor({}), password: '', siteUrl: 'http://here' };
  const pages = createPageWriter();
  const folders: Entry[][] = [];
  const before = usedBytes();
  for (let change = 0; change < 30; change += 1) {
    const entries = [entryOf(`${change}.txt`)];
    folders.push(entries);
    // As many rules are.
    const changed = { ...snapshot, rules: { ...snapshot.rules, records: Array.from({ length: 50_000 }, () => ({})) } };
    await Array.fromAsync(
      pages.write(entries, { snapshot: changed as unknown as Snapshot, mount, directory: vpath('/'), caller }, createPace()),
    );
  }
  // They took 40 MB and more. What this turn has looked at goes with the next one.
  await setImmediate();
  expect(usedBytes() - before).toBeLessThan(10_000_000);
  expect(folders).toHaveLength(30);
});
