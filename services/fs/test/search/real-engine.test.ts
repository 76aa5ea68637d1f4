import { isAvailable, startDocumentDb } from '@wharf/harness';
import { describe } from 'vitest';
import { openStoreIndex } from './open-store-index.ts';
import { describeSearchIndex } from './search-index.suite.ts';

const given = process.env['WHARF_TEST_MONGODB_URL'];
const engine = given === undefined ? await startDocumentDb() : { url: given, stop: async () => undefined };

describe.runIf(isAvailable('mongodb', engine))('a real engine', () => {
  if (!('url' in engine)) return;
  describeSearchIndex('in a real engine', () => openStoreIndex(engine.url, () => engine.stop()));
});
