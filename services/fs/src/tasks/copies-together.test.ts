import { describe, expect, it } from 'vitest';
import { createRuleBook } from '../domain/access/rule-book.ts';
import { bytesOf, type MemoryTree, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { ruleRecord } from '../domain/testing/records.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver, type TestDriver } from '../domain/testing/test-drivers.ts';
import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import { withMany } from '../drivers/memory/with-many.ts';
import type { PlacementInput } from './placement.ts';
import { placementKind } from './placement-kinds.ts';
import { runPlacement } from './testing/place-now.ts';
import { createTestRun } from './testing/test-run.ts';

const input = (more: Partial<PlacementInput> = {}): PlacementInput => ({
  source: '/from/d',
  target: '/to/d',
  sourceStorage: 1,
  targetStorage: 2,
  conflict: 'refuse',
  ...more,
});

interface World {
  readonly memory: MemoryTree;
  readonly target: TestDriver;
  /** Files of each call that took several. */
  readonly calls: { read: string[][]; written: string[][] };
}

/** Two storages that take several files in one call. */
async function openWorld(files: number): Promise<World> {
  const calls: World['calls'] = { read: [], written: [] };
  const [source, target] = [createTestDriver('From'), createTestDriver('To')];
  const noting = (definition: DriverDefinition): DriverDefinition => ({
    ...definition,
    async open(...given) {
      const driver = withMany(await definition.open(...given));
      return {
        ...driver,
        async readMany(paths, options) {
          calls.read.push([...paths]);
          return (await driver.readMany?.(paths, options)) ?? [];
        },
        async writeMany(writes, options) {
          calls.written.push(writes.map(({ file }) => file));
          return (await driver.writeMany?.(writes, options)) ?? [];
        },
      };
    },
  });
  const memory = await openTree({
    drivers: [source, target].map(({ definition }) => noting(definition)),
    storages: [
      { mount_path: '/from', driver: 'From' },
      { mount_path: '/to', driver: 'To' },
    ],
  });
  for (let index = 0; index < files; index += 1) await memory.put(`/from/d/${index % 3 === 0 ? 'sub/' : ''}f${index}`, `content ${index}`);
  return { memory, target, calls };
}

const sourcesOf = async (memory: MemoryTree) => (await memory.everything('/to/d')).map((path) => path.replace('/to/', '/from/'));

describe('small files between storages that take several in one call', () => {
  it.each([600, 1_200])('cost a fraction of a call each, also where %i are copied', async (files) => {
    const { memory, calls } = await openWorld(files);
    await runPlacement(memory.operation(), 'copy', input());
    expect(await sourcesOf(memory)).toEqual(await memory.everything('/from/d'));
    for (let index = 0; index < files; index += 97)
      expect(await memory.textOf(`/to/d/${index % 3 === 0 ? 'sub/' : ''}f${index}`)).toBe(`content ${index}`);
    for (const made of [calls.read, calls.written]) {
      expect(made.flat()).toHaveLength(files);
      expect(made.length).toBeLessThan(files / 8);
      expect(Math.max(...made.map((paths) => paths.length))).toBeLessThanOrEqual(16);
    }
  });

  it('are copied beside larger ones, which go by themselves', async () => {
    const { memory, calls } = await openWorld(5);
    const large = 'x'.repeat(64 * 1024 + 1);
    await memory.put('/from/d/large', large);
    await runPlacement(memory.operation(), 'copy', input());
    expect(await memory.textOf('/to/d/large')).toBe(large);
    expect(calls.written.flat()).toHaveLength(5);
    expect(await sourcesOf(memory)).toEqual(await memory.everything('/from/d'));
  });

  it('fail each by itself, and a retry copies that alone', async () => {
    const { memory, target, calls } = await openWorld(20);
    await target.storeOf().write(mpath('/d/f4'), bytesOf('somebody else was here'), { overwrite: true });
    const run = createTestRun({ signal: new AbortController().signal });
    expect(await refusalOf(runPlacement(memory.operation(), 'copy', input(), run))).toEqual(['ENTRY_EXISTS', 'f4: file [f4] exists']);
    expect(await memory.textOf('/to/d/f4')).toBe('somebody else was here');
    expect(await sourcesOf(memory)).toEqual(await memory.everything('/from/d'));
    calls.written = [];
    await target.storeOf().remove(mpath('/d/f4'), { recursive: false });
    await runPlacement(memory.operation(), 'copy', input(), run);
    expect(calls.written).toEqual([['/d/f4']]);
    expect(await memory.textOf('/to/d/f4')).toBe('content 4');
  });

  it('get no name without the lease', async () => {
    const { memory } = await openWorld(9);
    const run = createTestRun({ signal: new AbortController().signal });
    const begin = run.begin.bind(run);
    const lost = { ...run, begin: (text: string) => ({ ...begin(text), heldUntil: () => Promise.reject(new Error('lost')) }) };
    await expect(runPlacement(memory.operation(), 'copy', input(), lost)).rejects.toThrow('lost');
    expect((await memory.everything('/to')).filter((path) => !path.endsWith('/'))).toEqual([]);
  });

  it('of several tasks go in the same calls, and a task that is lost or cancelled ends alone', async () => {
    const { memory, calls } = await openWorld(0);
    const names = Array.from({ length: 12 }, (_, index) => `f${index}`);
    for (const name of names) await memory.put(`/from/d/${name}`, name);
    const operation = memory.operation();
    const kind = placementKind('copy', async ({ signal }) => ({ ...operation, signal }));
    const cancelled = new AbortController();
    const outcomes = await Promise.allSettled(
      names.map((name, index) => {
        const run = createTestRun({ signal: index === 3 ? cancelled.signal : new AbortController().signal });
        const raw = run.begin(kind.encodeInput(input({ source: `/from/d/${name}`, target: `/to/d/${name}` })));
        const heldUntil = async () => {
          if (index === 5) throw new Error('lost');
          // Between the question and the name of the others.
          if (index === 0) cancelled.abort(new Error('cancelled'));
          return raw.heldUntil();
        };
        return kind.run({ ...raw, heldUntil });
      }),
    );
    const reasons = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : 'copied'));
    expect(reasons).toEqual(names.map((_, index) => (index === 3 ? 'cancelled' : index === 5 ? 'lost' : 'copied')));
    expect(await sourcesOf(memory)).toEqual(
      names
        .filter((_, index) => index !== 3 && index !== 5)
        .map((name) => `/from/d/${name}`)
        .sort(),
    );
    for (const made of [calls.read, calls.written]) expect(made.length).toBeLessThan(names.length);
    expect(calls.written.flat().length).toBeGreaterThanOrEqual(names.length - 2);
  });

  it('are each held to the rules of today', async () => {
    const { memory } = await openWorld(9);
    const rules = createRuleBook([ruleRecord({ path: '/from/d/f4', read_users: [99] })]);
    const operation = { ...memory.operation(), snapshot: { ...memory.snapshot, rules } };
    expect((await refusalOf(runPlacement(operation, 'copy', input())))[0]).toBe('PERMISSION_DENIED');
    expect(await sourcesOf(memory)).toEqual((await memory.everything('/from/d')).filter((path) => path !== '/from/d/f4'));
  });

  it.each([
    ['copy', 2],
    ['move', 3],
  ] as const)('are each where they belong when the worker of their %s is lost at checkpoint %i', async (verb, at) => {
    const { memory, calls } = await openWorld(700);
    const before = await memory.everything('/from/d');
    const run = createTestRun({ signal: new AbortController().signal });
    run.onCheckpoint(() => {
      if (run.checkpoints() === at) run.lose();
    });
    expect((await refusalOf(runPlacement(memory.operation(), verb, input(), run)))[0]).toBe('CANCELLED');
    await runPlacement(memory.operation(), verb, input(), run);
    expect(await sourcesOf(memory)).toEqual(before);
    expect(await memory.everything('/from')).toEqual(verb === 'move' ? [] : before);
    // Those on their way at the loss began once more.
    expect(calls.written.flat().length).toBeLessThanOrEqual(732);
  });
});
