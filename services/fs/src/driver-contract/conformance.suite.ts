import { describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest';
import { contentRules } from './conformance/content-rules.suite.ts';
import { draftRules } from './conformance/draft-rules.suite.ts';
import { entryRules } from './conformance/entry-rules.suite.ts';
import { failureRules, raceRules } from './conformance/failure-rules.suite.ts';
import { lifeRules } from './conformance/life-rules.suite.ts';
import { nameRules } from './conformance/name-rules.suite.ts';
import { copyRules, folderRules, renameRules } from './conformance/placement-rules.suite.ts';
import type { Able, Body, Rule, StorageUnderTest } from './conformance/rule.ts';
import { type OptionalOperation, supports } from './storage-driver.ts';

export interface DriverUnderTest {
  readonly name: string;
  /** A new, empty storage for each rule. May use `onTestFinished` of vitest to clean up behind it. */
  readonly open: () => Promise<StorageUnderTest>;
  /** Rules this driver is known to break, by title, with the reason. Each runs and must fail. */
  readonly knownGaps?: Readonly<Record<string, string>>;
}

/** Holds a driver to the contract of `storage-driver.ts`: one sentence for each rule. */
export function describeDriver({ name, open, knownGaps = {} }: DriverUnderTest): void {
  const titles = new Set<string>();
  const rule: Rule = <const Ops extends OptionalOperation>(title: string, operations: readonly Ops[], body: Body<Ops>) => {
    titles.add(title);
    const run = async (test: TestContext) => {
      const side = await open();
      const { driver } = side;
      onTestFinished(() => closeAndCheck(side));
      const absent = operations.find((operation) => !supports(driver, operation));
      if (absent !== undefined) test.skip(`${name} has no ${absent}`);
      await body(driver as Able<Ops>, test, side);
    };
    if (Object.hasOwn(knownGaps, title)) it.fails(`${title} (known gap: ${knownGaps[title]})`, run);
    else it(title, run);
  };

  describe(`driver ${name}`, () => {
    describe('entries', () => entryRules(rule));
    describe('content', () => contentRules(rule));
    describe('names', () => nameRules(rule));
    describe('making and removing', () => folderRules(rule));
    describe('rename', () => renameRules(rule));
    describe('copy', () => copyRules(rule));
    describe('drafts', () => draftRules(rule));
    describe('cancellation and failure', () => failureRules(rule));
    describe('two at once', () => raceRules(rule));
    describe('traits and life', () => lifeRules(rule));
    it('the known gaps are rules of this suite', () => {
      for (const gap of Object.keys(knownGaps)) expect(titles).toContain(gap);
    });
  });
}

async function closeAndCheck({ driver, leftovers, connections }: StorageUnderTest): Promise<void> {
  await driver.close();
  if (leftovers) expect(await leftovers()).toEqual([]);
  if (connections) await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 5_000, interval: 20 });
}
