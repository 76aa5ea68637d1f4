import { isAvailable, startDocumentDb } from '@wharf/harness';
import { describe } from 'vitest';
import { describeQueue } from './queue-contract.ts';

const given = process.env['WHARF_TEST_MONGODB_URL'];
const engine = given === undefined ? await startDocumentDb() : { url: given, stop: async () => undefined };

describe.runIf(isAvailable('mongodb', engine))('a real engine', () => {
  if (!('url' in engine)) return;
  describeQueue('a real engine', async () => engine);
});
