/** Why something that a test needs is not on this machine. */
export interface Missing {
  readonly missing: string;
}

export function isMissing(found: object): found is Missing {
  return 'missing' in found;
}

/**
 * Decides whether the tests that need `name` run: `describe.runIf(isAvailable('nats-server', found))`.
 *
 * When it is missing the reason is printed and they are skipped; with `CI=true` that is an error instead, unless `name` is in the
 * comma-separated `WHARF_TEST_MAY_SKIP`.
 */
export function isAvailable<T extends object>(
  name: string,
  found: T | Missing,
  env: NodeJS.ProcessEnv = process.env,
): found is Exclude<T, Missing> {
  if (!isMissing(found)) return true;
  const maySkip = (env['WHARF_TEST_MAY_SKIP'] ?? '').split(',').map((word) => word.trim());
  if (env['CI'] === 'true' && !maySkip.includes(name))
    throw new Error(`${name} is needed by these tests: ${found.missing}. To allow the skip, name it in WHARF_TEST_MAY_SKIP.`);
  console.error(`skipped, no ${name}: ${found.missing}`);
  return false;
}
