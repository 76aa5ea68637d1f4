import { expect, it } from 'vitest';
import { ensureCommand } from './debian-package.ts';
import { isMissing } from './required.ts';

it('a program that is there is found', async () => {
  expect(await ensureCommand('sh', 'dash')).toEqual({ path: expect.stringMatching(/^\/.*\/sh$/) });
});

it('a package that does not exist is missing, with a reason', async () => {
  const answer = await ensureCommand('wharf-no-such-program', 'wharf-no-such-package');
  expect(isMissing(answer) && answer.missing).toMatch(/wharf-no-such-package/);
});
