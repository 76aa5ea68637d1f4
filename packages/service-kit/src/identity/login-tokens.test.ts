import { collectGarbage } from '@wharf/pace';
import { expect, it } from 'vitest';
import { createLoginTokens } from './login-tokens.ts';

it('a token that is remembered does not keep the header that it came in (C18)', () => {
  const tokens = createLoginTokens(Buffer.alloc(32, 'k'), Date.now);
  const iat = Math.floor(Date.now() / 1000);
  collectGarbage('last-resort');
  const before = process.memoryUsage().heapUsed;
  for (let login = 0; login < 500; login += 1) {
    const token = tokens.sign({ username: 'somebody', pwd_ts: 1, sid: `session ${login}`, iat, nbf: iat, exp: iat + 60 });
    const header = Buffer.from(`Bearer ${' '.repeat(30_000)}${token}`).toString();
    expect(tokens.verify(header.replace(/^Bearer /i, '').trim()).sid).toBe(`session ${login}`);
  }
  collectGarbage('last-resort');
  // The headers have 15 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
});
