import { expect, it, onTestFinished, vi } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { at, codeOf } from './conformance/driver-calls.ts';
import { decorate } from './decorate.ts';

it('a task waits long for a file of a storage that goes by others, and of a hanging disk no longer than anybody', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = await memoryDriver.open('');
  store.read = () => new Promise<never>(() => undefined);
  const ended: string[] = [];
  const read = async (name: string, limits: 'of others' | undefined) => {
    const outcome = await codeOf(decorate(store, limits).read(at('/file'), undefined, { isPatient: true }));
    ended.push(`${name}: ${outcome}`);
  };
  const reading = [read('own', undefined), read('of others', 'of others')];
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toEqual(['own: DEADLINE_EXCEEDED']);
  await vi.advanceTimersByTimeAsync(600_000);
  await Promise.all(reading);
  expect(ended).toEqual(['own: DEADLINE_EXCEEDED', 'of others: DEADLINE_EXCEEDED']);
});
