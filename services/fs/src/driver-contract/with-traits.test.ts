import { describe, expect, it } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { at, collect, pattern, refuses } from './conformance/driver-calls.ts';
import { spool } from './spool.ts';
import { withTraits } from './with-traits.ts';

const openPicky = async () =>
  withTraits(await memoryDriver.open('{"profile":"picky"}')) as Required<Awaited<ReturnType<typeof memoryDriver.open>>>;

/** Fails when it is asked for anything. */
const UNTOUCHED = (async function* () {
  yield expect.fail('a byte was asked for');
})();

describe('what a storage says of itself', () => {
  it.each([
    ['/a<b', 'the storage does not keep the name [a<b]: it has the character <'],
    ['/d/Con.txt', 'the storage does not keep the name [Con.txt]: it is reserved'],
    ['/dot.', 'the storage does not keep the name [dot.]: it ends with .'],
    ['/space /f', 'the storage does not keep the name [space ]: it ends with a space'],
    [`/${'n'.repeat(101)}`, `the storage does not keep the name [${'n'.repeat(101)}]: it has 101 bytes, of 100 at most`],
    [`${`/${'n'.repeat(99)}`.repeat(4)}/x`, 'the path has 402 bytes; the storage keeps 400'],
  ])('is told before a byte is moved: %s', async (path, message) => {
    const driver = await openPicky();
    await expect(driver.write(at(path), UNTOUCHED, { overwrite: true })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message });
    await expect(driver.makeDirectory(at(path))).rejects.toMatchObject({ message });
    await expect(driver.rename(at('/none'), at(path), { overwrite: true })).rejects.toMatchObject({ message });
    await expect(driver.copy(at('/none'), at(path), { overwrite: true })).rejects.toMatchObject({ message });
  });

  it('gets a content with its size, also where the sender does not know it', async () => {
    const driver = await openPicky();
    const content = pattern(700_000);
    const pieces = async function* () {
      for (let start = 0; start < content.length; start += 70_001) yield content.subarray(start, start + 70_001);
    };
    await driver.write(at('/f'), pieces(), { overwrite: true });
    expect((await collect(await driver.read(at('/f')))).equals(content)).toBe(true);
    await driver.write(at('/empty'), (async function* () {})(), { overwrite: true });
    expect(await collect(await driver.read(at('/empty')))).toHaveLength(0);
  });

  it('does not make us take in more than there is room for, and room comes back', async () => {
    const content = async function* (pieces = 10) {
      for (let index = 0; index < pieces; index += 1) yield pattern(10_000);
    };
    await refuses('QUOTA_EXCEEDED', spool(content(), { limitBytes: 130_000 }));
    // Tasks have three quarters of it.
    const tasks = { limitBytes: 140_000 };
    const held = await spool(content(), tasks);
    await refuses('QUOTA_EXCEEDED', spool(content(), tasks));
    await (await spool(content(4), { ...tasks, caller: 'user 1' })).end();
    await held.end();
    await held.end();
    const again = await spool(content(), tasks);
    expect([again.sizeBytes, (await collect(again.content)).length]).toEqual([100_000, 100_000]);
    await again.end();
    // One caller has half of it.
    const share = { limitBytes: 200_000, caller: 'user 1' };
    const first = await spool(content(), share);
    await refuses('QUOTA_EXCEEDED', spool(content(), share));
    await (await spool(content(), { ...share, caller: 'user 2' })).end();
    await first.end();
    await (await spool(content(), share)).end();
    await refuses('CANCELLED', spool(content(), { signal: AbortSignal.abort() }));
  });
});
