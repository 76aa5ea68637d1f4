import { expect, it } from 'vitest';
import { throughLongFolder } from './long-listings.ts';

const ALL = Number.MAX_SAFE_INTEGER;

it('long folders are gone through one after the other where they take all the room, and who waits for an answer waits for one patient at most', async () => {
  const over: string[] = [];
  const gates = new Map<string, () => void>();
  const begin = (name: string, isPatient?: true) =>
    throughLongFolder(ALL, { caller: name, isPatient }, async () => {
      await new Promise<void>((resolve) => gates.set(name, resolve));
      over.push(name);
    });
  const works = [begin('a task', true), begin('another task', true)];
  await expect.poll(() => gates.size).toBe(1);
  works.push(begin('somebody'));
  for (const name of ['a task', 'somebody', 'another task']) {
    await expect.poll(() => [...gates.keys()]).toEqual([name]);
    gates.get(name)?.();
    gates.delete(name);
  }
  await Promise.all(works);
  expect(over).toEqual(['a task', 'somebody', 'another task']);
});
