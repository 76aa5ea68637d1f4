import { createHash } from 'node:crypto';
import { MOUNT_ROOT } from '@wharf/paths';
import { expect } from 'vitest';
import { at, codeOf, entriesIn, pattern, put, refuses, textOf } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

export function lifeRules(rule: Rule): void {
  rule('the trait caseSensitive is true to the facts', ['write'], async (driver) => {
    await put(driver, '/name', 'lower');
    expect(await codeOf(put(driver, '/NAME', 'upper'))).toBe(driver.traits.caseSensitive ? 'done' : 'ENTRY_EXISTS');
    expect(await codeOf(driver.stat(at('/Name')))).toBe('ENTRY_NOT_FOUND');
    expect(await textOf(driver, '/name')).toBe('lower');
  });
  rule('the trait keepsEmptyDirectories is true to the facts', ['makeDirectory'], async (driver) => {
    await driver.makeDirectory(at('/empty'));
    expect(await codeOf(driver.stat(at('/empty')))).toBe(driver.traits.keepsEmptyDirectories ? 'done' : 'ENTRY_NOT_FOUND');
  });
  rule('the trait modTimeStepMs is true to the facts', ['write'], async (driver) => {
    const modifiedAt = new Date('2021-03-04T05:06:07.891Z');
    const { modifiedAt: kept } = await put(driver, '/file', 'x', { modifiedAt });
    const stepMs = driver.traits.modTimeStepMs;
    if (stepMs === undefined) expect(Math.abs(kept.getTime() - Date.now())).toBeLessThan(60_000);
    else expect(Math.abs(kept.getTime() - modifiedAt.getTime())).toBeLessThan(stepMs);
    expect((await driver.stat(at('/file'))).modifiedAt).toEqual(kept);
  });
  rule('the trait hashes is true to the facts', ['write'], async (driver) => {
    const content = pattern(10_000);
    const entry = await put(driver, '/file', content);
    for (const name of driver.traits.hashes) expect(entry.hashes?.[name]).toBe(createHash(name).update(content).digest('hex'));
  });
  rule('a storage with drafts says how they take their content', ['openDraft'], async (driver) => {
    expect(driver.traits.drafts).toEqual({ order: expect.stringMatching(/^(any|ascending)$/), readsBack: expect.any(Boolean) });
  });
  rule('the space that is free is part of the whole', ['space'], async (driver) => {
    const { totalBytes, freeBytes } = await driver.space();
    expect(freeBytes).toBeGreaterThanOrEqual(0);
    expect(totalBytes).toBeGreaterThanOrEqual(freeBytes);
  });
  rule('closing ends what is being written, and nothing of it is left', ['write'], async (driver, { leftovers }) => {
    const begun = Promise.withResolvers<void>();
    const stalled = (async function* () {
      yield pattern(300_000);
      begun.resolve();
      await new Promise(() => undefined);
    })();
    const outcomes = [codeOf(driver.write(at('/stalled'), stalled, { overwrite: true, sizeBytes: 1_000_000 }))];
    await begun.promise;
    for (let index = 0; index < 20; index++) outcomes.push(codeOf(put(driver, `/new-${index}`, pattern(10_000))));
    await driver.close();
    expect(await outcomes[0]).toBe('STORAGE_UNAVAILABLE');
    for (const outcome of await Promise.all(outcomes)) expect(['done', 'STORAGE_UNAVAILABLE']).toContain(outcome);
    // Closing waits for it: nobody would look for it again while this process lives.
    if (leftovers) expect(await leftovers()).toEqual([]);
  });
  rule('closing twice is fine, and afterwards every call fails', [], async (driver) => {
    await driver.close();
    await driver.close();
    await refuses('STORAGE_UNAVAILABLE', driver.stat(MOUNT_ROOT));
    await refuses('STORAGE_UNAVAILABLE', entriesIn(driver, '/'));
  });
}
