import { isAvailable, startDocumentDb } from '@wharf/harness';
import { describe } from 'vitest';
import { describeLongQueue } from './long-queue.ts';
import { describeQueue } from './queue-contract.ts';
import { describeSeveral } from './several-contract.ts';

/** `npm run soak -- queue` asks for 10,000. */
const TASKS = Number(process.env['WHARF_TEST_ENGINE_TASKS'] ?? 1_000);

const given = process.env['WHARF_TEST_MONGODB_URL'];
const engine = given === undefined ? await startDocumentDb() : { url: given, stop: async () => undefined };

describe.runIf(isAvailable('mongodb', engine))('a real engine', () => {
  if (!('url' in engine)) return;
  describeLongQueue('a real engine', TASKS, async () => engine);
  describeSeveral('a real engine', async () => engine);
  // Stops the engine at its end.
  describeQueue('a real engine', async () => engine);
});
