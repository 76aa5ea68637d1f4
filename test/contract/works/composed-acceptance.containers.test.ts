import type { Wharf } from '@wharf/harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startComposedWharf } from '../support/composed-wharf.ts';
import { CHECKS_WITHIN_MS, checkFamily, HAS_CHECKS } from '../support/family-checks.ts';

let wharf: Wharf;
beforeAll(async () => {
  wharf = await startComposedWharf({ env: { WHARF_EGRESS_ALLOW: '127.0.0.2/32' } });
}, 400_000);
afterAll(() => wharf?.stop());

test.runIf(HAS_CHECKS)('as many checks of the API family pass as with one process', { timeout: CHECKS_WITHIN_MS }, async () => {
  const told = await checkFamily(wharf);
  console.info(told);
  expect(told).toContain(' passed, 0 failed,');
});
