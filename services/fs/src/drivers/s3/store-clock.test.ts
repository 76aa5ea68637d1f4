import { describe, expect, it } from 'vitest';
import { StoreClock, type Taken } from './store-clock.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const sizeBytes = 10;
const version = 'etag';

/** A clock that was told a second, and the one before at the last moment. */
function clockAt(second: number): StoreClock {
  const clock = new StoreClock();
  clock.hear(at(second - 1).toUTCString(), 0);
  clock.hear(at(second).toUTCString(), 1);
  return clock;
}

/** An object that was sent and taken at these seconds of the store's time, the second one `sinceMs` after the one before may have ended. */
function take(clock: StoreClock, answered: number, sinceMs = 1): Taken {
  const sentAt = clock.latest;
  const answeredAt = clock.hear(at(answered).toUTCString(), 1);
  return { version, sizeBytes, sentAt, answeredAt, isWithin: clock.isWithin(sinceMs) };
}

describe('what a store has of an object that it has just taken', () => {
  it('is known from two answers of one second, once objects were found in the time between', () => {
    const clock = clockAt(1);
    const first = take(clock, 1);
    expect(clock.headOf(first)).toBeUndefined();
    clock.compare(first, { sizeBytes, version, modifiedAt: at(1) });
    expect(clock.headOf(take(clock, 1))).toEqual({ sizeBytes, version, modifiedAt: at(1) });
    const later = take(clock, 2);
    expect(clock.headOf(later)).toBeUndefined();
    expect(clock.headOf(take(clock, 2))).toMatchObject({ modifiedAt: at(2) });
  });

  it.each([
    ['earlier than it was sent', { sizeBytes, version, modifiedAt: at(0) }],
    ['later than it was answered', { sizeBytes, version, modifiedAt: at(2) }],
    ['of another size', { sizeBytes: 11, version, modifiedAt: at(1) }],
  ])('is asked for ever after an object was found %s', (_, found) => {
    const clock = clockAt(1);
    clock.compare(take(clock, 1), { sizeBytes, version, modifiedAt: at(1) });
    clock.compare(take(clock, 1), found);
    expect(clock.headOf(take(clock, 1))).toBeUndefined();
    clock.compare(take(clock, 1), { sizeBytes, version, modifiedAt: at(1) });
    expect(clock.headOf(take(clock, 1))).toBeUndefined();
  });

  it('is asked for now and then, so that a clock which is a little behind shows itself', () => {
    const clock = clockAt(1);
    clock.compare(take(clock, 1), { sizeBytes, version, modifiedAt: at(1) });
    const takes = Array.from({ length: 100 }, () => take(clock, 1));
    const asked = takes.filter((taken) => clock.headOf(taken) === undefined);
    expect(asked).toHaveLength(3);
    for (const taken of asked.slice(0, 1)) clock.compare(taken, { sizeBytes, version, modifiedAt: at(0) });
    expect(clock.headOf(take(clock, 1))).toBeUndefined();
  });

  it('is asked where the second may have ended, by the ticks of a clock or because nothing was told right before it', () => {
    const clock = clockAt(1);
    clock.compare(take(clock, 1), { sizeBytes, version, modifiedAt: at(1) });
    expect(clock.headOf(take(clock, 1, 900))).toBeDefined();
    expect(clock.headOf(take(clock, 1, 990))).toBeUndefined();
    const lone = new StoreClock();
    lone.hear(at(1).toUTCString(), 1);
    lone.compare(take(lone, 1), { sizeBytes, version, modifiedAt: at(1) });
    expect(lone.headOf(take(lone, 1))).toBeUndefined();
  });

  it('is not learnt from an object that somebody made since, nor from one that took long', () => {
    const clock = clockAt(1);
    clock.compare(take(clock, 1), { sizeBytes: 11, version: 'another', modifiedAt: at(9) });
    clock.compare(take(clock, 9), { sizeBytes, version, modifiedAt: at(2) });
    expect(clock.headOf(take(clock, 9))).toBeUndefined();
    clock.compare(take(clock, 9), { sizeBytes, version, modifiedAt: at(9) });
    expect(clock.headOf(take(clock, 9))).toBeDefined();
  });

  it('is asked where answers have no date or no ETag, and where another of its clocks is behind', () => {
    const clock = clockAt(5);
    clock.compare(take(clock, 5), { sizeBytes, version, modifiedAt: at(5) });
    expect(clock.headOf({ ...take(clock, 5), version: undefined })).toBeUndefined();
    expect(clock.headOf({ ...take(clock, 5), answeredAt: clock.hear(undefined, 1) })).toBeUndefined();
    expect(clock.headOf(take(clock, 4))).toBeUndefined();
    expect(clock.latest).toBe(at(5).getTime());
  });
});
