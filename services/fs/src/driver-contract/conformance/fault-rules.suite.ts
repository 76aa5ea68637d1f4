import { setTimeout as delay } from 'node:timers/promises';
import { MOUNT_ROOT } from '@wharf/paths';
import { expect, vi } from 'vitest';
import type { CallOptions, StorageDriver } from '../storage-driver.ts';
import { at, codeOf, collect, digest, entriesIn, namesIn, pattern, put, refuses, textOf } from './driver-calls.ts';
import { longFolder } from './long-folders.suite.ts';
import type { Able, FaultyWay, Rule, StorageUnderTest } from './rule.suite.ts';
import { atEnd } from './rule-end.suite.ts';

const FILE_BYTES = 6_000_000;
/** An answer comes after twice of it. */
const LATENCY_MS = 10;
/** For what comes about by itself, in milliseconds. */
const PATIENCE = { timeout: 10_000, interval: 20 };
/** Calls and transfers that meet one fault together. */
const MANY = 12;
/** Transfers that are under way at once, one begun after the other: each kind of storage takes so many. */
const READERS = 8;
const WRITERS = 4;

/** A storage behind a network whose network is bad. */
export function faultRules(rule: Rule): void {
  slowRules(rule);
  standingRules(rule);
  brokenRules(rule);
}

/** The same storage by a way that can be made bad: it has the operations of the other one. */
async function faulty<Driver extends StorageDriver>({ throughFaults }: StorageUnderTest) {
  if (!throughFaults) throw new Error('there is no way with faults');
  const { driver: opened, way, keeps } = await throughFaults();
  atEnd(async () => {
    await way.resume();
    await opened.close();
    await way.closed();
    await way.stop();
  });
  return { there: opened as Driver, way, keeps };
}

function slowRules(rule: Rule): void {
  rule('a slow way changes nothing but the time', ['write', 'makeDirectory', 'remove'], async (driver, side) => {
    const { there, way } = await faulty<typeof driver>(side);
    way.latencyMs = LATENCY_MS;
    const content = pattern(FILE_BYTES);
    await put(there, '/d/file', content, { sizeBytes: content.byteLength });
    await there.makeDirectory(at('/d/folder'));
    expect((await namesIn(there, '/d')).sort()).toEqual(['file', 'folder']);
    expect(digest(await collect(await there.read(at('/d/file'))))).toBe(digest(content));
    expect(await collect(await there.read(at('/d/file'), { offsetBytes: 1_000_000, lengthBytes: 10 }))).toEqual(
      content.subarray(1_000_000, 1_000_010),
    );
    await there.remove(at('/d'), { recursive: true });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
}

function standingRules(rule: Rule): void {
  rule(
    'calls that stand still end when they are aborted, and all is well when it goes on',
    ['write', 'makeDirectory', 'remove'],
    async (driver, side) => {
      await put(driver, '/d/file', 'old');
      const { there, way } = await faulty<typeof driver>(side);
      await there.stat(MOUNT_ROOT);
      way.stall();
      const abort = new AbortController();
      const options: CallOptions = { signal: abort.signal };
      const calls = [
        there.stat(at('/d/file'), options),
        entriesIn(there, '/d', options),
        there.read(at('/d/file'), undefined, options),
        put(there, '/d/file', 'new', options),
        there.makeDirectory(at('/d/folder'), options),
        there.remove(at('/d'), { ...options, recursive: true }),
      ].map(codeOf);
      abort.abort();
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['CANCELLED']));
      await way.resume();
      // What was asked before it was aborted may have been done.
      await vi.waitFor(async () => expect(await namesIn(there, '/')).toEqual(await namesIn(driver, '/')), PATIENCE);
      await put(there, '/d/file', 'new');
      expect(await textOf(driver, '/d/file')).toBe('new');
    },
  );
  rule('transfers that stand still keep no listing from its answer once they are aborted', ['write'], async (driver, side) => {
    await put(driver, '/file', pattern(FILE_BYTES));
    const { there, way } = await faulty<typeof driver>(side);
    const abort = new AbortController();
    const reading = Array.from({ length: MANY }, async () => {
      for await (const _ of await there.read(at('/file'), undefined, { signal: abort.signal })) way.stall();
    });
    await vi.waitFor(() => expect(way.bytesToClient()).toBeGreaterThan(0), PATIENCE);
    way.stall();
    const writing = Array.from({ length: MANY }, (_, index) => put(there, `/new-${index}`, pattern(FILE_BYTES), { signal: abort.signal }));
    const outcomes = [...reading, ...writing].map(codeOf);
    abort.abort();
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['CANCELLED']));
    await way.resume();
    expect(await namesIn(there, '/')).toEqual(['file']);
  });
  rule(
    'readers that are aborted stop what comes, and their connections end or are kept within a second',
    ['write'],
    async (driver, side) => {
      const content = pattern(4 * FILE_BYTES);
      await put(driver, '/file', content);
      const faults = await faulty<typeof driver>(side);
      // What the first ones leave in a pool is used by the next ones.
      for (const _ of ['first', 'next']) {
        await abortReaders(faults.there);
        await becomesQuiet(faults);
      }
      // Whatever else is asked, nothing of what had been asked for comes after it.
      for (let round = 0; round < MANY; round += 1) await faults.there.stat(at('/file'));
      expect(faults.way.bytesToClient()).toBeLessThan(READERS * content.byteLength);
    },
  );
  rule('writers that are aborted send no more, and their connections end or are kept within a second', ['write'], async (driver, side) => {
    const faults = await faulty<typeof driver>(side);
    const abort = new AbortController();
    const writing: Promise<unknown>[] = [];
    for (let index = 0; index < WRITERS; index += 1) {
      const sent = Promise.withResolvers<void>();
      const content = (async function* () {
        for (let piece = 0; piece < 10; piece += 1) yield pattern(1_000_000, piece);
        sent.resolve();
        await new Promise(() => undefined);
      })();
      const options = { overwrite: true, sizeBytes: 20_000_000, signal: abort.signal };
      const outcome = codeOf(faults.there.write(at(`/new-${index}`), content, options));
      writing.push(outcome);
      await Promise.race([sent.promise, outcome]);
    }
    abort.abort();
    expect(new Set(await Promise.all(writing))).toEqual(new Set(['CANCELLED']));
    await becomesQuiet(faults);
    expect(await namesIn(driver, '/')).toEqual([]);
  });
}

/** Readers of one file, which are all under way when they are aborted. */
async function abortReaders(driver: StorageDriver): Promise<void> {
  const abort = new AbortController();
  const allBegun = Promise.withResolvers<void>();
  let pieces = 0;
  const readOn = async (begun: () => void) => {
    for await (const _ of await driver.read(at('/file'), undefined, { signal: abort.signal })) {
      begun();
      await allBegun.promise;
      pieces += 1;
      if (pieces === 2 * READERS) abort.abort();
    }
  };
  const outcomes: Promise<unknown>[] = [];
  for (let index = 0; index < READERS; index += 1) {
    const begun = Promise.withResolvers<void>();
    const outcome = codeOf(readOn(begun.resolve));
    outcomes.push(outcome);
    await Promise.race([begun.promise, outcome]);
  }
  allBegun.resolve();
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['CANCELLED']));
}

/**
 * Holds that nothing passes any more, and that no more connections are open than the driver keeps, by what the way counts. It is looked at fifty times, 20 ms
 * from one look to the next: that is a second, and longer where this process has to wait for its turns, so that a busy machine is no failure.
 */
async function becomesQuiet({ way, keeps }: Pick<FaultyWay, 'way' | 'keeps'>): Promise<void> {
  const state = async () => ({ connections: await way.connections(), passed: way.bytesToClient() + way.bytesToServer() });
  let last = await state();
  for (let look = 0, quiet = 0; look < 50 && quiet < 3; look += 1) {
    await delay(20);
    const now = await state();
    quiet = now.connections <= keeps && now.passed === last.passed ? quiet + 1 : 0;
    last = now;
    if (quiet === 3) return;
  }
  expect.unreachable(`it is not quiet: ${JSON.stringify(last)}, where ${keeps} are kept`);
}

function brokenRules(rule: Rule): void {
  const fresh = (driver: Able<'write'>, path: string) => put(driver, path, pattern(FILE_BYTES));
  for (const keptBytes of [0, 1, 100_000, FILE_BYTES - 1]) {
    rule(`a read that is cut off after ${keptBytes} bytes gives the whole file, or fails`, ['write'], async (driver, side) => {
      await fresh(driver, '/file');
      const { there, way } = await faulty<typeof driver>(side);
      await there.stat(at('/file'));
      way.cutAfter(keptBytes, 1);
      const reading = async () => digest(await collect(await there.read(at('/file'))));
      const outcome = await reading().catch((error: { code: string }) => error.code);
      expect([digest(pattern(FILE_BYTES)), 'STORAGE_UNAVAILABLE']).toContain(outcome);
      way.cutAfter(0, 0);
      expect(await reading()).toBe(digest(pattern(FILE_BYTES)));
    });
  }
  for (const keptBytes of [1, 20_000]) {
    rule(
      `a listing that is cut off after ${keptBytes} bytes is whole, or fails`,
      ['write'],
      async (driver, side) => {
        const { path, names } = await longFolder(driver, side, 1_001);
        const { there, way } = await faulty<typeof driver>(side);
        await there.stat(MOUNT_ROOT);
        way.cutAfter(keptBytes, 1);
        const outcome = await namesIn(there, path).then(
          (found) => found.length,
          (error: { code: string }) => error.code,
        );
        expect([names.length, 'STORAGE_UNAVAILABLE']).toContain(outcome);
        way.cutAfter(0, 0);
        expect((await namesIn(there, path)).sort()).toEqual(names.sort());
      },
      'reading',
    );
  }
  rule('a write whose connection breaks leaves the old file or the new one, and nothing else', ['write'], async (driver, side) => {
    const { there, way } = await faulty<typeof driver>(side);
    for (const path of ['/old', '/new']) {
      await put(driver, '/old', 'old');
      const content = (async function* () {
        for (let piece = 0; piece < 60; piece += 1) {
          if (piece === 30) way.breakAll();
          yield pattern(100_000, piece);
        }
      })();
      expect(['STORAGE_UNAVAILABLE', 'done']).toContain(await codeOf(there.write(at(path), content, { overwrite: true })));
      expect([3, 6_000_000]).toContain((await driver.stat(at('/old'))).sizeBytes);
    }
    expect(['old', 'new,old']).toContain((await namesIn(driver, '/')).sort().join());
  });
  rule('a server that is away is told, and used again when it is back', ['write'], async (driver, side) => {
    await put(driver, '/file', 'x');
    const { there, way } = await faulty<typeof driver>(side);
    way.refuse();
    way.breakAll();
    for (let round = 0; round < 3; round += 1) {
      await refuses('STORAGE_UNAVAILABLE', there.stat(at('/file')));
      await refuses('STORAGE_UNAVAILABLE', entriesIn(there, '/'));
      await refuses('STORAGE_UNAVAILABLE', put(there, '/new', 'x'));
    }
    await way.resume();
    await vi.waitFor(async () => expect(await textOf(there, '/file')).toBe('x'), PATIENCE);
    expect(await namesIn(there, '/')).toEqual(['file']);
  });
}
