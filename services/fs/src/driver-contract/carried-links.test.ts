import { expect, it } from 'vitest';
import { leadsOut, MAX_LINK_LENGTH } from './carried-links.ts';

it.each([
  ['b', 'a', false],
  ['../b', 'a', false],
  ['.././b', 'a', false],
  ['../../b', 'a/c', false],
  ['../b', '', true],
  ['../../b', 'a', true],
  ['b/..', 'a', true],
  ['b//./../c', 'a', true],
  ['.hidden/../c', 'a', true],
  ['.../../c', 'a', true],
  ['..b/c', '', false],
  ['/somewhere/else', '', false],
  ['b/'.repeat(MAX_LINK_LENGTH), 'a', true],
])('a link to %j in the folder %j leads out of what is carried: %j', (text, inner, isOut) => {
  expect(leadsOut(text, inner)).toBe(isOut);
});
