import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, TASK_STATE } from '../src/index.ts';
import { ANN, type Installation, openOwnInstallation } from './installation.ts';

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));

let place: Installation;
beforeAll(async () => {
  place = await openOwnInstallation('takeover');
});
afterAll(() => place?.close());

const startWorker = (): Promise<RunningProcess<true>> =>
  startProcess({
    name: 'worker',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', WORKER, place.url],
    ready: { line: (line) => (line === 'ready' ? true : undefined) },
  });

/** The durable steps of a task that a worker told of, in order, with the fence of each. */
const stepsOf = (worker: RunningProcess<true>, id: string) =>
  worker
    .output()
    .split('\n')
    .map((line) => /^step (\S+) (\d+) (\d+)$/.exec(line))
    .filter((match) => match?.[1] === id)
    .map((match) => ({ step: Number(match?.[2]), fence: Number(match?.[3]) }));

/** Queues tasks without working on them. */
async function queue(steps: number, count: number): Promise<string[]> {
  const kind = defineTaskKind({ name: 'counting', input: z.object({ steps: z.number() }), maxRetries: 0, run: async () => {} });
  const engine = await place.open([kind], { concurrencyOf: async () => 1, limitOfKey: () => 0 });
  await engine.stop();
  const tasks = await engine.addAll(
    kind,
    Array.from({ length: count }, () => ({ name: 'count', creator: ANN, input: { steps } })),
  );
  return tasks.map(({ _id }) => _id);
}

it('the tasks of a worker that is killed are gone on with by another one, from the last durable step', async () => {
  const ids = await queue(250, 3);
  const first = await startWorker();
  await waitFor('steps of each', () => ids.every((id) => stepsOf(first, id).length > 3) || undefined);
  const second = await startWorker();
  await first.kill('SIGKILL');
  const killedAt = performance.now();
  await waitFor('the other worker', () => ids.every((id) => stepsOf(second, id).length > 0) || undefined, { withinMs: 40_000 });
  // Ten seconds are promised; a machine that is busy with other tests gets more.
  expect(performance.now() - killedAt).toBeLessThan(30_000);
  for (const id of ids) {
    const known = stepsOf(first, id).at(-1)?.step ?? 0;
    const { step, fence } = stepsOf(second, id)[0] ?? { step: 0, fence: 0 };
    // A step can have become durable without the killed worker telling of it.
    expect([known + 1, known + 2]).toContain(step);
    expect(fence).toBe(2);
  }
  for (const id of ids) expect(await place.untilState(id, TASK_STATE.succeeded)).toMatchObject({ checkpoint: '{"step":250}', failures: 0 });
  expect((await second.stop()).code).toBe(0);
});

it('a worker that is told to stop hands its tasks over at once', async () => {
  const [id = ''] = await queue(150, 1);
  const first = await startWorker();
  await waitFor('steps', () => stepsOf(first, id).length > 3 || undefined);
  expect((await first.stop()).code).toBe(0);
  // Not by its lease running out: it is free already.
  expect(await place.read(id)).toMatchObject({ state: TASK_STATE.pending, waiting: true, worker: '', losses: 0 });
  const second = await startWorker();
  await waitFor('the other worker', () => stepsOf(second, id).length > 0 || undefined);
  expect(stepsOf(second, id)[0]?.step).toBe((stepsOf(first, id).at(-1)?.step ?? 0) + 1);
  await place.untilState(id, TASK_STATE.succeeded);
  await second.stop();
});
