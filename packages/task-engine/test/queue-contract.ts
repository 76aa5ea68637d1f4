import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import { createLocalBus } from '@wharf/service-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, derivedTaskId, postponed, TASK_STATE, type TaskRun } from '../src/index.ts';
import { ANN, BOB, EVERYBODY, gate, type Installation, openInstallation, unlessAborted } from './installation.ts';

const NOTHING = z.object({});

/** What the queue holds on every store. */
export function describeQueue(name: string, openStore: () => Promise<{ url: string; stop(): Promise<void> }>): void {
  describe(`tasks on ${name}`, () => {
    let store: Awaited<ReturnType<typeof openStore>>;
    let place: Installation;
    beforeAll(async () => {
      store = await openStore();
    });
    beforeEach(async () => {
      place = await openInstallation(store.url);
    });
    afterEach(() => place.close());
    afterAll(() => store?.stop());

    it('300 tasks are each worked on once by 30 workers', async () => {
      const done: number[] = [];
      const kind = defineTaskKind({
        name: 'count',
        input: z.object({ number: z.number() }),
        maxRetries: 0,
        run: async ({ input }) => void done.push(input.number),
      });
      const bus = createLocalBus(() => {});
      const engines = await Promise.all(Array.from({ length: 30 }, () => place.open([kind], { bus, concurrencyOf: async () => 1 })));
      const tasks = Array.from({ length: 300 }, (_, number) => ({ name: `task ${number}`, creator: ANN, input: { number } }));
      await engines[0]?.addAll(kind, tasks);
      await waitFor('all tasks', async () => (await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })) === 300, {
        withinMs: 50_000,
      });
      expect(done.toSorted((a, b) => a - b)).toEqual(tasks.map(({ input }) => input.number));
    });

    it('no run is a part of the call that added its task, or another one', async () => {
      const call = new AsyncLocalStorage<string>();
      const seen = new Set<string | undefined>();
      const kind = defineTaskKind({ name: 'look', input: NOTHING, maxRetries: 0, run: async () => void seen.add(call.getStore()) });
      const engine = await place.open([kind], { concurrencyOf: async () => 2 });
      await call.run('of ann', () =>
        engine.addAll(
          kind,
          Array.from({ length: 20 }, () => ({ name: 'task', creator: ANN, input: {} })),
        ),
      );
      await waitFor('all tasks', async () => (await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })) === 20);
      expect([...seen]).toEqual([undefined]);
    });

    it('tasks whose ids say what they are for are queued once, whoever queues them again', async () => {
      const kind = defineTaskKind({ name: 'part', input: z.object({ part: z.number() }), maxRetries: 0, run: async () => {} });
      const [first, second] = await Promise.all([place.open([kind]), place.open([kind])]);
      const partsOf = (count: number) =>
        Array.from({ length: count }, (_, part) => ({
          id: derivedTaskId('parent', `part ${part}`),
          name: `part ${part}`,
          creator: ANN,
          input: { part },
        }));
      const added = await Promise.all([first.addAll(kind, partsOf(30)), second.addAll(kind, partsOf(30))]);
      expect(added.flat()).toHaveLength(30);
      await waitFor('all tasks', async () => (await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })) === 30);
      expect((await second.addAll(kind, partsOf(31))).map(({ name }) => name)).toEqual(['part 30']);
      expect(await place.models.tasks.countDocuments({ fence: { $lte: 1 } })).toBe(31);
    });

    it('an index that an earlier version declared goes, also where several start at once, and again', async () => {
      const { collection } = place.models.tasks;
      await collection.createIndex({ waiting: 1, kind: 1, priority: -1, run_at: 1 });
      const kind = defineTaskKind({ name: 'none', input: NOTHING, maxRetries: 0, run: async () => {} });
      await Promise.all([place.open([kind]), place.open([kind])]);
      await place.open([kind]);
      const declared = place.models.tasks.schema.indexes().map(([keys]) => Object.keys(keys).join());
      const kept = (await collection.indexes()).map(({ key }) => Object.keys(key).join());
      expect(kept.toSorted()).toEqual(['_id', ...declared].toSorted());
    });

    it('a task goes through its states and ends with what it made', async () => {
      const hold = gate();
      const kind = defineTaskKind({
        name: 'copy',
        input: z.object({ from: z.string() }),
        maxRetries: 2,
        async run(run) {
          run.progress({ doneBytes: 25, totalBytes: 100, status: 'copying', phase: 'bytes' });
          await unlessAborted(run.signal, hold.opened);
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: { from: '/a' }, totalBytes: 100 });
      const running = await waitFor('progress', async () => ((await place.read(id)).progress > 0 ? place.read(id) : undefined));
      expect(running).toMatchObject({
        state: 1,
        status: 'copying',
        phase: 'bytes',
        progress: 25,
        total_bytes: 100,
        done: false,
        end_time: null,
      });
      expect(running.start_time).toBeInstanceOf(Date);
      hold.open();
      const ended = await place.untilState(id, TASK_STATE.succeeded);
      expect(ended).toMatchObject({
        progress: 100,
        error: '',
        done: true,
        speed: 0,
        eta: null,
        creator: 'ann',
        creator_role: 0,
        waiting: false,
      });
      expect(ended.end_time?.getTime()).toBeGreaterThanOrEqual(ended.start_time?.getTime() ?? 0);
    });

    it('a task that fails is retried as often as its kind says, and keeps its error', async () => {
      let attempts = 0;
      const kind = defineTaskKind({
        name: 'fails',
        input: NOTHING,
        maxRetries: 1,
        async run() {
          attempts += 1;
          throw new AppError('STORAGE_UNAVAILABLE', 'the other side is away');
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      const waiting = await place.untilState(id, TASK_STATE.waitingRetry);
      expect(waiting).toMatchObject({ error: 'the other side is away', failures: 1, done: false });
      const failed = { error: 'the other side is away', error_code: 'STORAGE_UNAVAILABLE', done: true };
      expect(await place.untilState(id, TASK_STATE.failed)).toMatchObject(failed);
      expect(attempts).toBe(2);
    });

    it('an error that no repetition mends ends the task, and one that nobody foresaw is not told', async () => {
      const errors = [new AppError('PERMISSION_DENIED', 'permission denied'), new Error('secret of a library')];
      let attempts = 0;
      const kind = defineTaskKind({
        name: 'fails',
        input: z.object({ which: z.number() }),
        maxRetries: 0,
        async run({ input }) {
          attempts += 1;
          throw errors[input.which];
        },
      });
      const engine = await place.open([kind]);
      const [denied, unforeseen] = await engine.addAll(kind, [
        { name: 'a', creator: ANN, input: { which: 0 } },
        { name: 'b', creator: ANN, input: { which: 1 } },
      ]);
      expect((await place.untilState(denied?._id ?? '', TASK_STATE.failed)).error).toBe('permission denied');
      expect((await place.untilState(unforeseen?._id ?? '', TASK_STATE.failed)).error).toBe('internal error');
      expect(attempts).toBe(2);
      expect(place.log()).toContain('secret of a library');
    });

    it('a retry begins a failed task again, with nothing left of its error', async () => {
      let isBroken = true;
      const kind = defineTaskKind({
        name: 'mended',
        input: NOTHING,
        maxRetries: 0,
        async run() {
          if (isBroken) throw new AppError('STORAGE_UNAVAILABLE', 'away');
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      await place.untilState(id, TASK_STATE.failed);
      isBroken = false;
      expect(await engine.apply('retry', [id], 'mended', EVERYBODY)).toEqual(new Map());
      expect((await place.untilState(id, TASK_STATE.succeeded)).error).toBe('');
    });

    it('a cancelled task is told so, puts away what it left, and ends as cancelled', async () => {
      const ends: string[] = [];
      const kind = defineTaskKind({
        name: 'long',
        input: NOTHING,
        maxRetries: 2,
        run: ({ signal }) => unlessAborted(signal, gate().opened),
        onEnd: async (outcome) => void ends.push(outcome),
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      await place.untilState(id, TASK_STATE.running);
      await engine.apply('cancel', [id], 'long', EVERYBODY);
      expect(await place.untilState(id, TASK_STATE.canceled)).toMatchObject({ done: true, waiting: false, error: '' });
      expect(ends).toEqual(['canceled']);
      await engine.apply('cancel', [id], 'long', EVERYBODY);
      expect((await place.read(id)).state).toBe(TASK_STATE.canceled);
      expect(await engine.apply('retry', [id], 'long', EVERYBODY)).toEqual(new Map());
      await place.untilState(id, TASK_STATE.running);
    });

    it('a cancel through another replica is heard, and its end seen, without the bus', async () => {
      const kind = defineTaskKind({
        name: 'long',
        input: NOTHING,
        maxRetries: 2,
        run: ({ signal }) => unlessAborted(signal, gate().opened),
      });
      const first = await place.open([kind]);
      const { _id: id } = await first.add(kind, { name: 'a', creator: ANN, input: {} });
      await place.untilState(id, TASK_STATE.running);
      const second = await place.open([kind]);
      await second.apply('cancel', [id], 'long', EVERYBODY);
      expect((await place.untilState(id, TASK_STATE.canceled)).done).toBe(true);
    });

    it('a task that waits is cancelled at once', async () => {
      const kind = defineTaskKind({
        name: 'long',
        input: NOTHING,
        maxRetries: 2,
        run: ({ signal }) => unlessAborted(signal, gate().opened),
      });
      const engine = await place.open([kind], { concurrencyOf: async () => 1 });
      const [first, second] = await engine.addAll(kind, [
        { name: 'a', creator: ANN, input: {} },
        { name: 'b', creator: ANN, input: {} },
      ]);
      await place.untilState(first?._id ?? '', TASK_STATE.running);
      await engine.apply('cancel', [second?._id ?? ''], 'long', EVERYBODY);
      expect(await place.read(second?._id ?? '')).toMatchObject({ state: TASK_STATE.canceled, done: true, fence: 0 });
    });

    it('a deleted task is cancelled, seen by nobody at once, and its work ends', async () => {
      let ended = false;
      const kind = defineTaskKind({
        name: 'long',
        input: NOTHING,
        maxRetries: 2,
        async run({ signal }) {
          await unlessAborted(signal, gate().opened).finally(() => {
            ended = true;
          });
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      await place.untilState(id, TASK_STATE.running);
      await engine.apply('delete', [id], 'long', EVERYBODY);
      await expect(engine.control.get(id, 'long', EVERYBODY)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
      expect(await engine.apply('cancel', [id], 'long', EVERYBODY)).toEqual(
        new Map([[id, expect.objectContaining({ code: 'TASK_NOT_FOUND' })]]),
      );
      await place.untilState(id, TASK_STATE.canceled);
      expect(ended).toBe(true);
    });

    it('a paused task keeps its checkpoint and waits; resumed it goes on from there', async () => {
      const seen: Array<number | undefined> = [];
      const hold = gate();
      const kind = defineTaskKind({
        name: 'steps',
        input: NOTHING,
        checkpoint: z.object({ step: z.number() }),
        maxRetries: 0,
        async run(run) {
          seen.push(run.checkpoint?.step);
          if (run.checkpoint) return;
          await run.saveCheckpoint({ step: 1 });
          try {
            await unlessAborted(run.signal, hold.opened);
          } catch (error) {
            await run.saveCheckpoint({ step: 2 });
            throw error;
          }
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      await waitFor('a checkpoint', async () => (await place.read(id)).checkpoint !== '');
      await engine.apply('pause', [id], 'steps', EVERYBODY);
      const paused = await place.untilState(id, TASK_STATE.pending);
      expect(paused).toMatchObject({ paused: true, waiting: false, checkpoint: '{"step":2}' });
      await engine.apply('resume', [id], 'steps', EVERYBODY);
      await place.untilState(id, TASK_STATE.succeeded);
      expect(seen).toEqual([undefined, 2]);
    });

    it('whatever is asked of a task at the same time, it ends in one final state, and nothing holds it', async () => {
      const kind = defineTaskKind({
        name: 'race',
        input: NOTHING,
        maxRetries: 0,
        run: ({ signal }) => unlessAborted(signal, gate().opened),
      });
      const bus = createLocalBus(() => {});
      const engines = [await place.open([kind], { bus }), await place.open([kind], { bus })];
      const tasks = await engines[0]?.addAll(
        kind,
        Array.from({ length: 12 }, () => ({ name: 'a', creator: ANN, input: {} })),
      );
      const ids = (tasks ?? []).map(({ _id }) => _id);
      for (let round = 0; round < 3; round += 1)
        await Promise.all(
          (['pause', 'resume', 'pause', 'resume', 'cancel', 'retry'] as const).map((action, index) =>
            engines[index % 2]?.apply(action, ids, 'race', EVERYBODY),
          ),
        );
      await engines[0]?.apply('resume', ids, 'race', EVERYBODY);
      await engines[1]?.apply('cancel', ids, 'race', EVERYBODY);
      for (const id of ids)
        expect(await place.untilState(id, TASK_STATE.canceled)).toMatchObject({ done: true, waiting: false, paused: false, worker: '' });
    });

    it('what a stale worker writes changes nothing and ends its run (C24)', async () => {
      const hold = gate();
      const runs: TaskRun<object, { by: number }, { by: number }>[] = [];
      const refused: unknown[] = [];
      const kind = defineTaskKind({
        name: 'fenced',
        input: NOTHING,
        checkpoint: z.object({ by: z.number() }),
        chunk: z.object({ by: z.number() }),
        maxRetries: 0,
        async run(run) {
          runs.push(run);
          await run.chunks.write(0, { by: run.fence });
          if (run.fence > 1) return;
          await hold.opened;
          for (const write of [
            () => run.saveCheckpoint({ by: 1 }),
            () => run.chunks.write(0, { by: 1 }),
            () => run.assertLease(),
            () => run.saveCheckpoint({ by: 1 }),
          ])
            await write().catch((error) => refused.push(error));
          throw new Error('whatever it says is not heard');
        },
      });
      const stale = await place.open([kind]);
      const { _id: id } = await stale.add(kind, { name: 'a', creator: ANN, input: {} });
      await waitFor('the first run', () => runs.length === 1 || undefined);
      // As a reaper finds a worker that hangs.
      await place.models.tasks.updateOne({ _id: id }, { state: 0, waiting: true, worker: '', lease_until: new Date(0) });
      const fresh = await place.open([kind]);
      await place.untilState(id, TASK_STATE.succeeded);
      const before = await place.read(id);
      hold.open();
      await waitFor('the stale run', () => refused.length === 4 || undefined);
      expect(refused).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ code: 'CANCELLED' })));
      expect(runs[0]?.signal.aborted).toBe(true);
      await stale.stop();
      await fresh.stop();
      expect(await place.read(id)).toEqual(before);
    });

    it('chunks of a task are kept for the next worker and go with success', async () => {
      const kind = defineTaskKind({
        name: 'manifest',
        input: NOTHING,
        chunk: z.object({ names: z.array(z.string()) }),
        maxRetries: 1,
        async run(run) {
          if (await run.chunks.read(0)) return;
          for (let index = 0; index < 3; index += 1) await run.chunks.write(index, { names: [`a${index}`] });
          await run.chunks.write(1, { names: ['changed.with.$dots'] });
          expect([await run.chunks.read(1), await run.chunks.read(3)]).toEqual([{ names: ['changed.with.$dots'] }, undefined]);
          throw new AppError('STORAGE_UNAVAILABLE', 'again');
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      await place.untilState(id, TASK_STATE.waitingRetry);
      expect(await place.models.chunks.countDocuments({ task: id })).toBe(3);
      await place.untilState(id, TASK_STATE.succeeded);
      await waitFor('no chunks', async () => (await place.models.chunks.countDocuments({ task: id })) === 0);
    });

    it('a worker that stops hands its tasks to another one, which goes on from the checkpoint', async () => {
      const seen: Array<number | undefined> = [];
      const kind = defineTaskKind({
        name: 'steps',
        input: NOTHING,
        checkpoint: z.object({ step: z.number() }),
        maxRetries: 0,
        async run(run) {
          seen.push(run.checkpoint?.step);
          if (run.checkpoint?.step === 7) return;
          try {
            await unlessAborted(run.signal, gate().opened);
          } catch (error) {
            await run.saveCheckpoint({ step: 7 });
            throw error;
          }
        },
      });
      const bus = createLocalBus(() => {});
      const first = await place.open([kind], { bus });
      const { _id: id } = await first.add(kind, { name: 'a', creator: ANN, input: {} });
      await place.untilState(id, TASK_STATE.running);
      const second = await place.open([kind], { bus });
      await first.stop();
      expect((await place.untilState(id, TASK_STATE.succeeded)).failures).toBe(0);
      expect(seen).toEqual([undefined, 7]);
      await second.stop();
    });

    it('a run that is postponed waits in the queue with its reason, takes no worker and counts no failure', async () => {
      const ran: string[] = [];
      let isFull = true;
      const kind = defineTaskKind({
        name: 'roomy',
        input: z.object({ isBig: z.boolean(), forMs: z.number() }),
        checkpoint: z.object({ needs: z.number() }),
        maxRetries: 0,
        async run(run) {
          ran.push(`${run.name} ${run.checkpoint?.needs ?? ''}`);
          if (!run.input.isBig || !isFull) return;
          await run.saveCheckpoint({ needs: 12 });
          throw postponed('needs 12, 3 free', run.input.forMs);
        },
        onEnd: async () => {},
      });
      const first = await place.open([kind], { concurrencyOf: async () => 1 });
      const task = (taskName: string, isBig: boolean, forMs = 3_600_000) => ({ name: taskName, creator: ANN, input: { isBig, forMs } });
      const [big, other, small] = await first.addAll(kind, [task('big', true), task('other', true), task('small', false)]);
      const [bigId = '', otherId = '', smallId = ''] = [big?._id, other?._id, small?._id];
      await place.untilState(smallId, TASK_STATE.succeeded);
      const waits = { state: TASK_STATE.pending, waiting: true, worker: '', failures: 0, error: '', status: 'needs 12, 3 free' };
      expect(await place.read(bigId)).toMatchObject({ ...waits, phase: 'waiting', fence: 1, progress: 0, done: false });
      await first.stop();
      const second = await place.open([kind]);
      await second.apply('cancel', [otherId], 'roomy', EVERYBODY);
      expect(await place.read(otherId)).toMatchObject({ state: TASK_STATE.canceled, fence: 2 });
      expect(await place.read(bigId)).toMatchObject(waits);
      isFull = false;
      await second.hurry(kind);
      await place.untilState(bigId, TASK_STATE.succeeded);
      expect(ran).toEqual(['big ', 'other ', 'small ', 'big 12']);
    });

    it('what cannot be put away for now is put away a little later', async () => {
      let ends = 0;
      const kind = defineTaskKind({
        name: 'clinging',
        input: NOTHING,
        maxRetries: 0,
        run: () => Promise.reject(new AppError('INVALID_ARGUMENT', 'it cannot be done')),
        async onEnd() {
          ends += 1;
          if (ends === 1) throw new AppError('STORAGE_UNAVAILABLE', 'what it needs is starting again');
        },
      });
      const engine = await place.open([kind]);
      const [task] = await engine.addAll(kind, [{ name: 'clings', creator: ANN, input: {} }]);
      await place.untilState(task?._id ?? '', TASK_STATE.failed);
      expect(ends).toBe(2);
      expect(await place.read(task?._id ?? '')).toMatchObject({ error: 'it cannot be done', done: true });
    });

    it('a run that is postponed is run again when its time has come', async () => {
      let runs = 0;
      const kind = defineTaskKind({
        name: 'soon',
        input: NOTHING,
        maxRetries: 0,
        async run() {
          runs += 1;
          if (runs < 3) throw postponed('not yet', 100);
        },
      });
      const engine = await place.open([kind]);
      const { _id: id } = await engine.add(kind, { name: 'a', creator: ANN, input: {} });
      expect(await place.untilState(id, TASK_STATE.succeeded)).toMatchObject({ failures: 0, fence: 3, error: '' });
    });

    it('limits hold for each kind and for each key', async () => {
      const order: string[] = [];
      const working = new Map<string, number>();
      let most = 0;
      const hold = gate();
      const kind = defineTaskKind({
        name: 'limited',
        input: z.object({ key: z.string() }),
        maxRetries: 0,
        async run({ input, name: task, signal }) {
          order.push(task);
          const count = (working.get(input.key) ?? 0) + 1;
          working.set(input.key, count);
          most = Math.max(most, count);
          await unlessAborted(signal, hold.opened);
          working.set(input.key, count - 1);
        },
      });
      let slots = 0;
      const engine = await place.open([kind], {
        concurrencyOf: async () => Math.max(slots, 1),
        limitOfKey: (key) => (key === 'slow' ? 1 : undefined),
        shareOf: (places) => places,
      });
      const task = (taskName: string, key: string) => ({
        name: taskName,
        creator: ANN,
        input: { key },
        keys: [key],
      });
      await engine.add(kind, task('first', 'slow'));
      await waitFor('the first', () => order.length === 1 || undefined);
      slots = 3;
      await engine.addAll(kind, [task('slow 2', 'slow'), task('second', 'other'), task('third', 'other'), task('last', 'other')]);
      await waitFor('three at work', () => order.length === 3 || undefined);
      expect(order).toEqual(['first', 'second', 'third']);
      hold.open();
      await waitFor('all', async () => (await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })) === 5);
      expect(working.get('slow')).toBe(0);
    });

    it.each([1, 3])('of %i places one user has all but one, and users take turns, however many tasks one of them has', async (slots) => {
      const begun: string[] = [];
      const holds = new Map<string, ReturnType<typeof gate>>();
      const kind = defineTaskKind({
        name: 'shared',
        input: NOTHING,
        maxRetries: 0,
        async run({ name: task, signal }) {
          begun.push(task);
          const hold = gate();
          holds.set(task, hold);
          await unlessAborted(signal, hold.opened);
        },
      });
      const engine = await place.open([kind], { concurrencyOf: async () => slots });
      const tasks = (creator: typeof ANN, count: number) =>
        Array.from({ length: count }, (_, index) => ({ name: `${creator.name} ${index}`, creator, input: {} }));
      await engine.addAll(kind, tasks(ANN, 40));
      const share = Math.max(1, slots - 1);
      await waitFor('the share of the first', () => begun.length === share);
      await engine.addAll(kind, tasks(BOB, 20));
      await engine.addAll(kind, tasks({ ...BOB, id: 5, name: 'eve' }, 1));
      if (slots > 1) await waitFor('the place of others', () => begun.length === slots);
      expect(begun.filter((task) => task.startsWith('ann'))).toHaveLength(share);
      // Of the next that begin, eve is one.
      for (let ended = 0; !begun.includes('eve 0') && ended < 3; ended += 1) {
        const count = begun.length;
        holds.get(begun.findLast((task) => !task.startsWith('ann')) ?? 'ann 0')?.open();
        await waitFor('the next', () => begun.length > count);
      }
      expect(begun).toContain('eve 0');
    });

    it('users take turns also beside many whose tasks are all to be tried later', async () => {
      const begun: string[] = [];
      const kind = defineTaskKind({ name: 'beside', input: NOTHING, maxRetries: 0, run: async (run) => void begun.push(run.name) });
      const adder = await place.open([kind]);
      await adder.stop();
      const tasks = (id: number, count: number) =>
        Array.from({ length: count }, () => ({ name: `of ${id}`, creator: { ...ANN, id }, input: {} }));
      await adder.addAll(kind, tasks(1, 30));
      for (let id = 10; id < 30; id += 1) await adder.addAll(kind, tasks(id, 1));
      await place.models.tasks.updateMany({ creator_id: { $gte: 10 } }, { $set: { run_at: new Date(Date.now() + 3_600_000) } });
      await adder.addAll(kind, tasks(50, 2));
      await place.open([kind], { concurrencyOf: async () => 1 });
      await waitFor('all that are due', () => begun.length === 32);
      expect(begun.indexOf('of 50')).toBeLessThan(3);
    });

    it('a replica leaves tasks to others whose keys it avoids', async () => {
      const done: string[] = [];
      const kind = defineTaskKind({
        name: 'placed',
        input: NOTHING,
        maxRetries: 0,
        run: async (run) => void done.push(run.name),
      });
      const first = await place.open([kind], { avoidedKeys: () => ['elsewhere'] });
      const task = (taskName: string, keys: string[]) => ({ name: taskName, creator: ANN, input: {}, keys });
      await first.addAll(kind, [task('there', ['user:3', 'elsewhere']), task('here', ['user:3'])]);
      await waitFor('what is here', () => done.length === 1);
      expect(done).toEqual(['here']);
      await place.open([kind]);
      await waitFor('what is there', () => done.length === 2);
    });

    it('people see their own tasks, the newest first, and the administrator all', async () => {
      const kind = defineTaskKind({ name: 'idle', list: 'shown', input: NOTHING, maxRetries: 0, run: async () => {} });
      const engine = await place.open([kind], { concurrencyOf: async () => 1 });
      const mine = await engine.add(kind, { name: 'mine', creator: ANN, input: {} });
      const theirs = await engine.add(kind, { name: 'theirs', creator: BOB, input: {} });
      for (const { _id } of [mine, theirs]) await place.untilState(_id, TASK_STATE.succeeded);
      const names = async (creatorId: number | undefined, page = { skip: 0, limit: 0 }) => {
        const found: string[] = [];
        for await (const { name: task } of engine.control.list({ list: 'shown', done: true, ...page }, { creatorId })) found.push(task);
        return found;
      };
      expect([await names(undefined), await names(ANN.id), await names(BOB.id), await names(undefined, { skip: 1, limit: 1 })]).toEqual([
        ['theirs', 'mine'],
        ['mine'],
        ['theirs'],
        ['mine'],
      ]);
      await expect(engine.control.get(theirs._id, 'shown', { creatorId: ANN.id })).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
      await expect(engine.control.get(theirs._id, 'other', EVERYBODY)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
      await engine.clear('shown', [TASK_STATE.succeeded], { creatorId: ANN.id });
      expect(await names(undefined)).toEqual(['theirs']);
    });
  });
}
