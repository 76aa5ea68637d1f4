import { describe, expect, it } from 'vitest';
import { createPrivacyMask } from './privacy-mask.ts';

const IPV4 = '(?:\\d{1,3}\\.){3}\\d{1,3}';

describe('privacy mask', () => {
  it('each match becomes as many stars as it has characters', () => {
    expect(createPrivacyMask()(IPV4, 'dial 10.1.2.3: refused, 127.0.0.1')).toBe('dial ********: refused, *********');
  });

  it('every line is a pattern; empty lines and what is no pattern do nothing', () => {
    expect(createPrivacyMask()(`\n(\n${IPV4}\r\ntoken=\\w+\n`, 'at 1.1.1.1 with token=abc (')).toBe('at ******* with ********* (');
  });

  it('a pattern that matches nothing at every place leaves the message', () => {
    expect(createPrivacyMask()('x*', 'abxxc')).toBe('ab**c');
  });

  it('other patterns take effect at once', () => {
    const mask = createPrivacyMask();
    expect([mask('a', 'ab'), mask('b', 'ab'), mask('', 'ab')]).toEqual(['*b', 'a*', 'ab']);
  });

  it('time is linear for a pattern that ruins a backtracking engine', () => {
    const startedAt = performance.now();
    createPrivacyMask()('(a+)+$', `${'a'.repeat(9_000)}!`);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
