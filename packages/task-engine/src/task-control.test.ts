import { describe, expect, it } from 'vitest';
import { meets, STEPS, TASK_ACTIONS, type TaskAction } from './task-control.ts';
import { DONE_STATES, QUEUED_STATES, TASK_STATE } from './task-state.ts';

const NOW = new Date('2026-01-02T03:04:05Z');
const { pending, running, succeeded, canceling, canceled, failing, failed, waitingRetry } = TASK_STATE;
const STATES = Object.values(TASK_STATE);
const FLAGS = [false, true];

interface Situation {
  readonly state: number;
  readonly paused: boolean;
  readonly has_cleanup: boolean;
}

const SITUATIONS: Situation[] = STATES.flatMap((state) =>
  FLAGS.flatMap((paused) => FLAGS.map((has_cleanup) => ({ state, paused, has_cleanup }))),
);

const changesOf = (action: TaskAction, situation: Situation) =>
  STEPS[action](NOW)
    .filter(([filter]) => meets(situation, filter))
    .map(([, change]) => change);

describe('what is done to a task', () => {
  it.each(TASK_ACTIONS)('%s has one meaning at most, whatever state the task is in', (action) => {
    for (const situation of SITUATIONS) expect(changesOf(action, situation).length, JSON.stringify(situation)).toBeLessThan(2);
  });

  it.each(TASK_ACTIONS)('after %s the marks of the queue agree with the state', (action) => {
    for (const situation of SITUATIONS)
      for (const change of changesOf(action, situation)) {
        const after: Situation = { ...situation, ...change };
        const shown = `${JSON.stringify(situation)} -> ${JSON.stringify(change)}`;
        if (change.waiting === true) expect(QUEUED_STATES.some((state) => state === after.state) && !after.paused, shown).toBe(true);
        if (change.state !== undefined && change.state !== situation.state) {
          const wasDone = DONE_STATES.some((state) => state === situation.state);
          const isDone = DONE_STATES.some((state) => state === after.state);
          if (isDone !== wasDone) expect(change.done, shown).toBe(isDone);
        }
      }
  });

  it.each<[TaskAction, Partial<Situation>, number | 'same' | 'nothing']>([
    ['cancel', { state: pending }, canceled],
    ['cancel', { state: pending, paused: true }, canceled],
    ['cancel', { state: pending, has_cleanup: true }, canceling],
    ['cancel', { state: waitingRetry }, canceled],
    ['cancel', { state: running }, canceling],
    ['cancel', { state: canceling }, 'nothing'],
    ['cancel', { state: failing }, 'nothing'],
    ['cancel', { state: succeeded }, 'nothing'],
    ['cancel', { state: failed }, 'nothing'],
    ['cancel', { state: canceled }, 'nothing'],
    ['delete', { state: pending }, canceled],
    ['delete', { state: pending, has_cleanup: true }, canceling],
    ['delete', { state: running }, canceling],
    ['delete', { state: canceling }, 'same'],
    ['delete', { state: succeeded }, 'same'],
    ['delete', { state: failed }, 'same'],
    ['retry', { state: failed }, waitingRetry],
    ['retry', { state: canceled }, waitingRetry],
    ['retry', { state: succeeded }, waitingRetry],
    ['retry', { state: waitingRetry }, waitingRetry],
    ['retry', { state: running }, 'nothing'],
    ['retry', { state: pending }, 'nothing'],
    ['retry', { state: canceling }, 'nothing'],
    ['pause', { state: pending }, pending],
    ['pause', { state: waitingRetry }, pending],
    ['pause', { state: running }, 'same'],
    ['pause', { state: running, paused: true }, 'nothing'],
    ['pause', { state: succeeded }, 'nothing'],
    ['pause', { state: canceling }, 'nothing'],
    ['resume', { state: pending, paused: true }, 'same'],
    ['resume', { state: running, paused: true }, 'same'],
    ['resume', { state: pending }, 'nothing'],
    ['resume', { state: failed }, 'nothing'],
  ])('%s of a task that is %j: %s', (action, situation, expected) => {
    const [change] = changesOf(action, { state: pending, paused: false, has_cleanup: false, ...situation });
    if (expected === 'nothing') expect(change).toBeUndefined();
    else if (expected === 'same') expect(change && (change.state ?? situation.state)).toBe(situation.state);
    else expect(change?.state).toBe(expected);
  });

  it('what is deleted is seen by nobody, and nothing else is', () => {
    for (const action of TASK_ACTIONS)
      for (const situation of SITUATIONS)
        for (const change of changesOf(action, situation)) expect(change.forget === true).toBe(action === 'delete');
  });

  it('a retry leaves no trace of the attempts before, and begins what had succeeded anew', () => {
    expect(changesOf('retry', { state: failed, paused: false, has_cleanup: false })[0]).toMatchObject({
      error: '',
      failures: 0,
      progress: 0,
      start_time: null,
      end_time: null,
      run_at: NOW,
    });
    expect(changesOf('retry', { state: failed, paused: false, has_cleanup: false })[0]).not.toHaveProperty('checkpoint');
    expect(changesOf('retry', { state: succeeded, paused: false, has_cleanup: false })[0]).toMatchObject({ checkpoint: '' });
  });
});
