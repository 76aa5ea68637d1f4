import { isAvailable } from '@wharf/harness';
import { describe } from 'vitest';
import { ALL_RULES } from './contract/all-rules.ts';
import { KNOWN_DIFFERENCES } from './contract/known-differences.ts';
import { describeStore } from './contract/store-contract.ts';
import { openRealEngine } from './real-engine.ts';

const engine = await openRealEngine();

describe.runIf(isAvailable('mongodb', engine))('a real engine', () => {
  if (!('url' in engine)) return;
  describeStore(engine.kind, async () => engine, ALL_RULES, KNOWN_DIFFERENCES[engine.kind]);
});
