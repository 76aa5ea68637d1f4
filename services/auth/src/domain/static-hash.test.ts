import { expect, it } from 'vitest';
import { staticHash } from './static-hash.ts';

// Expected values: printf '%s' '<password>-https://github.com/alist-org/alist' | sha256sum
it.each([
  ['', '263d6a3a1bc3780769ef456641d81a41ea52b66dd25fe02b5959967fd852127d'],
  ['admin', '6fcb57cd10b2c11d765dcf16148d99130afd895082af83725ee8bb181b1d2b0f'],
  ['pässwörd 密码', '1850ef1937dbb5e8aeb4b140556ec77e159bb884990b77ff3f3d9fb2436b95ba'],
])('the static hash of "%s" is the one that clients compute', (password, hash) => {
  expect(staticHash(password)).toBe(hash);
});
