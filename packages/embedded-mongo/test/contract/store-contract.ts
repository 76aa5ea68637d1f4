import { randomBytes } from 'node:crypto';
import { mongo } from 'mongoose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

export interface StoreUnderTest {
  readonly url: string;
  stop(): Promise<void>;
}

export interface RuleContext {
  readonly url: string;
  readonly db: mongo.Db;
  /** Empty, and of this rule alone. */
  readonly collection: mongo.Collection<mongo.Document>;
}

/** An engine's TTL reaper may come by once a minute only. */
const RULE_WITHIN_MS = 90_000;

/** Declares one sentence of the contract and its proof. */
export type Rule = (title: string, proof: (context: RuleContext) => Promise<void>) => void;

/**
 * Runs the contract against a store.
 *
 * `knownDifferences` names the rules in which an engine other than ours departs from what MongoDB documents, with the reason. Such a rule has to
 * fail: one that passes turns the run red, so that the list cannot rot.
 */
export function describeStore(
  name: string,
  open: () => Promise<StoreUnderTest>,
  groups: Readonly<Record<string, (rule: Rule) => void>>,
  knownDifferences: Readonly<Record<string, string>> = {},
): void {
  describe(`store contract on ${name}`, () => {
    let store: StoreUnderTest | undefined;
    let client: mongo.MongoClient | undefined;
    const titles = new Set<string>();
    const databaseName = `contract_${randomBytes(4).toString('hex')}`;
    let collections = 0;

    beforeAll(async () => {
      store = await open();
      client = await mongo.MongoClient.connect(store.url);
    }, 900_000);
    afterAll(async () => {
      await client?.db(databaseName).dropDatabase();
      await client?.close();
      await store?.stop();
    });

    for (const [group, declare] of Object.entries(groups)) {
      describe(group, () => {
        let used: mongo.Collection<mongo.Document> | undefined;
        afterEach(async () => {
          await used?.drop().catch(() => undefined);
        });
        declare((title, proof) => {
          titles.add(title);
          const run = title in knownDifferences ? it.fails : it;
          run(
            title,
            async () => {
              if (!client || !store) throw new Error('the store did not start');
              const db = client.db(databaseName);
              used = db.collection(`c${++collections}`);
              await proof({ url: store.url, db, collection: used });
            },
            RULE_WITHIN_MS,
          );
        });
      });
    }

    it('every known difference names a rule', () => {
      expect(Object.keys(knownDifferences).filter((title) => !titles.has(title))).toEqual([]);
    });
  });
}

/** The error of a command that has to fail. */
export async function failureOf(action: Promise<unknown>): Promise<mongo.MongoServerError> {
  try {
    await action;
  } catch (error) {
    if (error instanceof mongo.MongoServerError) return error;
    throw error;
  }
  throw new Error('the command succeeded');
}

/** Inserts `{_id: <position>, ...}` for each document. */
export async function fill(collection: mongo.Collection<mongo.Document>, documents: readonly mongo.Document[]): Promise<void> {
  await collection.insertMany(
    documents.map((document, index) => ({ _id: index, ...document })) as unknown as mongo.OptionalId<mongo.Document>[],
  );
}

/** The `_id`s that a filter finds, ascending. */
export async function idsOf(collection: mongo.Collection<mongo.Document>, filter: mongo.Document): Promise<unknown[]> {
  const found = await collection.find(filter, { projection: { _id: 1 } }).toArray();
  return found.map((document) => document['_id'] as unknown).sort((a, b) => Number(a) - Number(b));
}
