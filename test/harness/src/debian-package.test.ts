import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ensureCommand, mayInstall } from './debian-package.ts';
import { isMissing } from './required.ts';

const POLICY_FILE = '/usr/sbin/policy-rc.d';

it('a program that is there is found', async () => {
  expect(await ensureCommand('sh', 'dash')).toEqual({ path: expect.stringMatching(/^\/.*\/sh$/) });
});

it('only CI and whoever says so has packages installed', () => {
  expect(mayInstall({})).toBe(false);
  expect(mayInstall({ CI: 'false', WHARF_TEST_INSTALL: '0' })).toBe(false);
  expect(mayInstall({ CI: 'true' })).toBe(true);
  expect(mayInstall({ WHARF_TEST_INSTALL: '1' })).toBe(true);
});

it('without permission nothing is installed, and the reason says how to give it where it could be', async () => {
  const answer = await ensureCommand('wharf-no-such-program', 'hello', {});
  const isDebianRoot = existsSync('/usr/bin/apt-get') && process.getuid?.() === 0;
  expect(answer).toEqual({
    missing: expect.stringMatching(isDebianRoot ? /\(Debian package hello\); WHARF_TEST_INSTALL=1 / : /\(Debian package hello\)$/),
  });
});

it.runIf(mayInstall())('a package that does not exist is missing, with a reason, and the policy about services is as it was', async () => {
  const before = existsSync(POLICY_FILE);
  const answer = await ensureCommand('wharf-no-such-program', 'wharf-no-such-package');
  expect(isMissing(answer) && answer.missing).toMatch(/wharf-no-such-package/);
  expect(existsSync(POLICY_FILE)).toBe(before);
});
