import { expect, it } from 'vitest';
import { z } from 'zod';
import { createBusErrors } from './bus-errors.ts';
import { readEvent } from './read-event.ts';

const subject = { name: 'wharf.test.changed.v1', schema: z.object({ paths: z.array(z.string()).max(500) }) };
const read = (value: unknown) => readEvent(subject, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

it('an event of ours is read', () => {
  expect(read({ paths: Array(500).fill('/a') })).toEqual({ paths: Array(500).fill('/a') });
});

it.each([
  ['a list of half a million wrong items', `{"paths":[${'1,'.repeat(500_000)}1]}`, 'is too deep, or has too many values'],
  ['a deep one', `${'['.repeat(500_000)}${']'.repeat(500_000)}`, 'is too deep, or has too many values'],
  ['wrong items', { paths: [1, 2] }, 'paths.0: Invalid input: expected string, received number'],
  ['too many', { paths: Array(501).fill('/a') }, 'paths: Too big: expected array to have <=500 items'],
  ['no JSON', 'hello', ': Invalid input: expected object, received undefined'],
])('%s is refused with its first fault alone', (_what, value, fault) => {
  let thrown: unknown;
  try {
    read(value);
  } catch (error) {
    thrown = error;
  }
  expect(String(thrown)).toContain(fault);
  expect(String(thrown).length).toBeLessThan(200);
});

it('faults of a subject are one short line a second, with how many were left out', () => {
  const lines: unknown[] = [];
  let now = 0;
  const onError = createBusErrors({ warn: (line: unknown) => void lines.push(line) }, () => now);
  for (let times = 0; times < 100; times += 1) onError(new Error('x'.repeat(100_000)), 'a');
  onError(new Error('other'), 'b');
  now = 1_000;
  onError('again', 'a');
  expect(lines).toEqual([
    { subject: 'a', problem: 'x'.repeat(1_000), unsaid: 0 },
    { subject: 'b', problem: 'other', unsaid: 0 },
    { subject: 'a', problem: 'again', unsaid: 99 },
  ]);
});
