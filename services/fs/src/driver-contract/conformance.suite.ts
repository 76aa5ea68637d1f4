import { afterAll, describe, expect, it, vi } from 'vitest';
import { OPTIONAL_OPERATIONS } from './complete-driver.ts';
import { asideRules } from './conformance/aside-rules.suite.ts';
import { contentRules } from './conformance/content-rules.suite.ts';
import { draftRules } from './conformance/draft-rules.suite.ts';
import { entryRules } from './conformance/entry-rules.suite.ts';
import { failureRules, raceRules } from './conformance/failure-rules.suite.ts';
import { faultRules } from './conformance/fault-rules.suite.ts';
import { hostKeyRules } from './conformance/host-key-rules.suite.ts';
import { lifeRules } from './conformance/life-rules.suite.ts';
import { longListingRules } from './conformance/long-folders.suite.ts';
import { nameRules } from './conformance/name-rules.suite.ts';
import { conditionRules, copyRules, folderRules, renameRules, wantedRules } from './conformance/placement-rules.suite.ts';
import type { Rule, StorageUnderTest } from './conformance/rule.suite.ts';
import { atEnd, runToEnd } from './conformance/rule-end.suite.ts';
import { thumbnailRules } from './conformance/thumbnail-rules.suite.ts';
import { tlsRules } from './conformance/tls-rules.suite.ts';
import { expiryRules, loginRules, redirectRules } from './conformance/web-rules.suite.ts';
import { type OptionalOperation, supports } from './storage-driver.ts';

export interface DriverUnderTest {
  readonly name: string;
  /** A new, empty storage for each rule. What it makes goes by `atEnd`. */
  readonly open: () => Promise<StorageUnderTest>;
  /** A storage with the long folders in it, for rules that only read. Absent: each of them has one of its own, and makes them. */
  readonly openStanding?: () => Promise<StorageUnderTest>;
  /** Rules wait for a server more than they work: they run beside each other, also those of several groups. */
  readonly hasServer?: true;
  /** What it cannot do: rules that need it are left out. It must have every other operation. */
  readonly lacks?: readonly OptionalOperation[];
  /** There is a server behind a network: its storages come with a seed, and with a way through faults. */
  readonly isRemote?: true;
  /** What is replaced steps aside, on servers that do not replace in one step: its storages come with a seed. */
  readonly stepsAside?: true;
  /** Its server is reached by HTTP: its storages come with `web`. */
  readonly isWeb?: true;
  /** It speaks TLS, but not HTTP: its storages come with `tls`. */
  readonly hasTls?: true;
  /** Its servers are known by a key: its storages come with `startKeyed`. */
  readonly hasHostKey?: true;
  /** TLS is verified always: it has no item against that, so rules that need one are left out. */
  readonly hasNoTrustItem?: true;
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
  const { name, open, openStanding = open, lacks = [], isRemote, isWeb, hasLogin, groups, knownGaps = {}, documented } = tested;
  const titles = new Set<string>();
  const how = { concurrent: tested.hasServer ?? false };
  let connections: StorageUnderTest['connections'];
  const group = (heading: string, rules: (rule: Rule) => void) => {
    const tests: { title: string; run: () => Promise<void> }[] = [];
    rules((title, operations, body, kind) => {
      titles.add(title);
      if (operations.some((operation) => lacks.includes(operation))) return;
      const rule = async () => {
        const side = await (kind === 'reading' ? openStanding() : open());
        connections = side.connections;
        atEnd(() => closeAndCheck(side));
        // The last rule says that it has them.
        await body(side.driver as Parameters<typeof body>[0], side);
      };
      tests.push({ title, run: () => runToEnd(rule) });
    });
    if (tests.length === 0 || (groups && !groups.includes(heading))) return;
    describe(heading, how, () => {
      for (const { title, run } of tests) {
        if (Object.hasOwn(knownGaps, title)) it.fails(`${title} (known gap: ${knownGaps[title]})`, how, run);
        else it(title, how, run);
      }
    });
  };

  describe(`driver ${name}`, () => {
    afterAll(() => vi.waitFor(async () => expect(await connections?.()).toBe(connections && 0), PATIENCE));
    group('entries', entryRules);
    group('content', contentRules);
    group('names', nameRules);
    group('making and removing', folderRules);
    group('removing what was looked at', conditionRules);
    group('rename', renameRules);
    group('copy', copyRules);
    group('drafts', draftRules);
    group('thumbnails', thumbnailRules);
    group('cancellation and failure', failureRules);
    group('two at once', raceRules);
    group('traits and life', lifeRules);
    group('long listings', longListingRules);
    if (isRemote) group('faults', faultRules);
    if (isRemote) group('what is wanted no more', wantedRules);
    if (tested.stepsAside) group('what steps aside', asideRules);
    if (hasLogin) group('login', loginRules);
    if (isWeb) {
      group('redirects', (rule) => redirectRules(rule, !tested.hasNoTrustItem));
      group('login that ends', expiryRules);
    }
    if (isWeb || tested.hasTls) group('TLS', (rule) => tlsRules(rule, !tested.hasNoTrustItem));
    if (tested.hasHostKey) group('host keys', hostKeyRules);
    group('abilities', (rule) => {
      rule('it can do all that it is not said to lack', [], async (driver) => {
        expect(OPTIONAL_OPERATIONS.filter((operation) => !supports(driver, operation))).toEqual([...lacks].sort());
      });
    });
    it('the known gaps are rules of this suite', () => {
      for (const gap of Object.keys(knownGaps)) expect(titles).toContain(gap);
    });
    if (!documented) return;
    const describes = async () => {
      const side = await open();
      atEnd(() => closeAndCheck(side));
      const traits = Object.fromEntries(Object.entries(side.driver.traits).sort(([one], [other]) => (one < other ? -1 : 1)));
      const facts = { ...documented, cannot: [...lacks].sort(), traits, gaps: knownGaps };
      const file = `${documented.driver} ${documented.server}`.toLowerCase().replaceAll(/[^a-z\d]+/g, '-');
      // `npm test -- -u` with the name of the test file writes it anew; `npm run gen` makes the document from it.
      await expect(`${JSON.stringify(facts, undefined, 2)}\n`).toMatchFileSnapshot(`./facts/${file}.json`);
    };
    it('it is what docs/drivers.md says of it', () => runToEnd(describes));
  });
}

/** For what ends behind a call that was answered, in milliseconds. */
const PATIENCE = { timeout: 10_000, interval: 20 };

async function closeAndCheck({ driver, leftovers }: StorageUnderTest): Promise<void> {
  await driver.close();
  // A call that was aborted has been answered; what it began is taken back then.
  if (leftovers) await vi.waitFor(async () => expect(await leftovers()).toEqual([]), PATIENCE);
}
