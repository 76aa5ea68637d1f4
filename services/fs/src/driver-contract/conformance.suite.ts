import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { OPTIONAL_OPERATIONS } from './complete-driver.ts';
import { contentRules } from './conformance/content-rules.suite.ts';
import { draftRules } from './conformance/draft-rules.suite.ts';
import { entryRules } from './conformance/entry-rules.suite.ts';
import { failureRules, raceRules } from './conformance/failure-rules.suite.ts';
import { faultRules } from './conformance/fault-rules.suite.ts';
import { lifeRules } from './conformance/life-rules.suite.ts';
import { nameRules } from './conformance/name-rules.suite.ts';
import { copyRules, folderRules, renameRules } from './conformance/placement-rules.suite.ts';
import type { Rule, StorageUnderTest } from './conformance/rule.suite.ts';
import { thumbnailRules } from './conformance/thumbnail-rules.suite.ts';
import { expiryRules, loginRules, redirectRules, tlsRules } from './conformance/web-rules.suite.ts';
import { type OptionalOperation, supports } from './storage-driver.ts';

export interface DriverUnderTest {
  readonly name: string;
  /** A new, empty storage for each rule. May use `onTestFinished` of vitest to clean up behind it. */
  readonly open: () => Promise<StorageUnderTest>;
  /** What it cannot do: rules that need it are left out. It must have every other operation. */
  readonly lacks?: readonly OptionalOperation[];
  /** There is a server behind a network: its storages come with a seed, and with a way through faults. */
  readonly isRemote?: true;
  /** Its server is reached by HTTP: its storages come with `web`. */
  readonly isWeb?: true;
  /** It logs in: its storages come with `badLogin`. */
  readonly hasLogin?: true;
  /** Groups of rules that are run; absent: all. For one of several servers behind one code, where another runs all. */
  readonly groups?: readonly string[];
  /** Rules this driver is known to break, by title, with the reason. Each runs and must fail. */
  readonly knownGaps?: Readonly<Record<string, string>>;
  /** Its part of docs/drivers.md is made from what this run finds, which is kept in `facts` beside the test. Absent: not from this one. */
  readonly documented?: Documented;
}

interface Documented {
  /** Its name, as in its definition. */
  readonly driver: string;
  /** What was behind it. */
  readonly server: string;
}

/** Holds a driver to the contract of `storage-driver.ts`: one sentence for each rule. */
export function describeDriver(tested: DriverUnderTest): void {
  const { name, open, lacks = [], isRemote, isWeb, hasLogin, groups, knownGaps = {}, documented } = tested;
  const titles = new Set<string>();
  const group = (heading: string, rules: (rule: Rule) => void) => {
    const tests: { title: string; run: () => Promise<void> }[] = [];
    rules((title, operations, body) => {
      titles.add(title);
      if (operations.some((operation) => lacks.includes(operation))) return;
      const run = async () => {
        const side = await open();
        onTestFinished(() => closeAndCheck(side));
        // The last rule says that it has them.
        await body(side.driver as Parameters<typeof body>[0], side);
      };
      tests.push({ title, run });
    });
    if (tests.length === 0 || (groups && !groups.includes(heading))) return;
    describe(heading, () => {
      for (const { title, run } of tests) {
        if (Object.hasOwn(knownGaps, title)) it.fails(`${title} (known gap: ${knownGaps[title]})`, run);
        else it(title, run);
      }
    });
  };

  describe(`driver ${name}`, () => {
    group('entries', entryRules);
    group('content', contentRules);
    group('names', nameRules);
    group('making and removing', folderRules);
    group('rename', renameRules);
    group('copy', copyRules);
    group('drafts', draftRules);
    group('thumbnails', thumbnailRules);
    group('cancellation and failure', failureRules);
    group('two at once', raceRules);
    group('traits and life', lifeRules);
    if (isRemote) group('faults', faultRules);
    if (hasLogin) group('login', loginRules);
    if (isWeb) {
      group('redirects', redirectRules);
      group('TLS', tlsRules);
      group('login that ends', expiryRules);
    }
    group('abilities', (rule) => {
      rule('it can do all that it is not said to lack', [], async (driver) => {
        expect(OPTIONAL_OPERATIONS.filter((operation) => !supports(driver, operation))).toEqual([...lacks].sort());
      });
    });
    it('the known gaps are rules of this suite', () => {
      for (const gap of Object.keys(knownGaps)) expect(titles).toContain(gap);
    });
    if (!documented) return;
    it('it is what docs/drivers.md says of it', async () => {
      const side = await open();
      onTestFinished(() => closeAndCheck(side));
      const traits = Object.fromEntries(Object.entries(side.driver.traits).sort(([one], [other]) => (one < other ? -1 : 1)));
      const facts = { ...documented, cannot: [...lacks].sort(), traits, gaps: knownGaps };
      const file = `${documented.driver} ${documented.server}`.toLowerCase().replaceAll(/[^a-z\d]+/g, '-');
      // `npm test -- -u` with the name of the test file writes it anew; `npm run gen` makes the document from it.
      await expect(`${JSON.stringify(facts, undefined, 2)}\n`).toMatchFileSnapshot(`./facts/${file}.json`);
    });
  });
}

async function closeAndCheck({ driver, leftovers, connections }: StorageUnderTest): Promise<void> {
  await driver.close();
  const patience = { timeout: 5_000, interval: 20 };
  // A call that was aborted has been answered; what it began is taken back then.
  if (leftovers) await vi.waitFor(async () => expect(await leftovers()).toEqual([]), patience);
  if (connections) await vi.waitFor(async () => expect(await connections()).toBe(0), patience);
}
