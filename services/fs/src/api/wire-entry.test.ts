import { describe, expect, it } from 'vitest';
import { toWireTime } from './wire-entry.ts';

const DAY_MS = 86_400_000;

describe('toWireTime', () => {
  it('writes every time that RFC 3339 can write as toISOString does', () => {
    const first = Date.parse('0001-01-01T00:00:00.000Z');
    // A step that is no part of a day meets every hour, minute, second and millisecond in turn, leap years too.
    const step = 29 * DAY_MS + 37_123_457;
    const last = Date.parse('9999-12-31T23:59:59.999Z');
    const wrong: string[] = [];
    for (let ms = first; ms <= last; ms += step) {
      const time = new Date(ms);
      if (toWireTime(time) !== time.toISOString()) wrong.push(time.toISOString());
    }
    expect(wrong).toEqual([]);
    expect(toWireTime(new Date(last))).toBe('9999-12-31T23:59:59.999Z');
  });

  it('gives a time that has no such form the nearest that has one', () => {
    expect(toWireTime(new Date(8.64e15))).toBe('9999-12-31T23:59:59.999Z');
    expect(toWireTime(new Date(-8.64e15))).toBe('0001-01-01T00:00:00.000Z');
    expect(toWireTime(new Date(Number.NaN))).toBe('1970-01-01T00:00:00.000Z');
  });
});
