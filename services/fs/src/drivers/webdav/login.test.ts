import { expect, it } from 'vitest';
import { Login } from './login.ts';

const MUFASA = { username: 'Mufasa', password: 'Circle of Life' };
/** The example of RFC 7616, section 3.9.1. */
const RFC = [
  'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"',
  'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"',
] as const;
const CLIENT_NONCE = () => 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';

it('answers the example of RFC 7616, by SHA-256 where that is offered too', () => {
  const responseTo = (challenges: string) => {
    const login = new Login(MUFASA);
    expect(login.learn(challenges)).toBe(true);
    return login.header('GET', '/dir/index.html', CLIENT_NONCE);
  };
  expect(responseTo(RFC[1])).toContain('response="8ca523f5e9506fed4657c9700eebdbec"');
  for (const challenges of [RFC[0], `${RFC[1]}, ${RFC[0]}`, `Basic realm="x", ${RFC[0]}`]) {
    expect(responseTo(challenges)).toContain('response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"');
  }
});

it('nothing is said before the server has asked, and each use of a nonce is counted', () => {
  const login = new Login(MUFASA);
  expect(login.header('GET', '/')).toBeUndefined();
  login.learn(RFC[0]);
  expect(login.header('GET', '/')).toContain('nc=00000001');
  expect(login.header('GET', '/')).toContain('nc=00000002');
});

it('a refused login is asked for again with a new nonce only, and never goes from Digest to Basic', () => {
  const login = new Login(MUFASA);
  login.learn(RFC[0]);
  expect(login.learn(RFC[0])).toBe(false);
  expect(login.learn(RFC[0].replace('7ypf', 'next'))).toBe(true);
  expect(login.learn('Basic realm="x"')).toBe(false);
  expect(login.header('GET', '/')).toMatch(/^Digest /);
});

it('Basic has names and passwords as UTF-8; a refused one is not sent again', () => {
  const login = new Login({ username: 'ä', password: 'p:"ö' });
  expect(login.learn('Negotiate, Basic realm="x", charset="UTF-8"')).toBe(true);
  expect(Buffer.from(login.header('GET', '/')?.slice('Basic '.length) ?? '', 'base64').toString()).toBe('ä:p:"ö');
  expect(login.learn('Basic realm="x"')).toBe(false);
});

it.each([
  undefined,
  '',
  'NTLM',
  'Digest realm="x"',
  'Digest realm="x", nonce="y", algorithm=ROT13',
  '"'.repeat(100_000),
  'a='.repeat(100_000),
])('what nobody can answer is not answered', (challenges) => {
  const login = new Login(MUFASA);
  expect(login.learn(challenges)).toBe(false);
  expect(login.header('GET', '/')).toBeUndefined();
});
