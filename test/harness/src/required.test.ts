import { expect, it } from 'vitest';
import { isAvailable } from './required.ts';

const missing = { missing: 'not on PATH' };

it('what was found is available, everywhere', () => {
  expect(isAvailable('ftp', { path: '/usr/bin/ftp' }, {})).toBe(true);
  expect(isAvailable('ftp', { path: '/usr/bin/ftp' }, { CI: 'true' })).toBe(true);
});

it('what is missing is skipped on a machine of a contributor', () => {
  expect(isAvailable('ftp', missing, {})).toBe(false);
  expect(isAvailable('ftp', missing, { CI: 'false' })).toBe(false);
});

it('with CI=true what is missing is an error unless the list allows the skip', () => {
  expect(() => isAvailable('ftp', missing, { CI: 'true' })).toThrow('ftp is needed by these tests: not on PATH');
  expect(() => isAvailable('ftp', missing, { CI: 'true', WHARF_TEST_MAY_SKIP: 'sftp,smb' })).toThrow();
  expect(isAvailable('ftp', missing, { CI: 'true', WHARF_TEST_MAY_SKIP: 'smb, ftp' })).toBe(false);
});
