import { describe, expect, it } from 'vitest';
import { planBody, rangesOf, singleRange } from './ranges.ts';

const whole = undefined;

it.each([
  ['bytes=0-0', [[0, 0]]],
  ['bytes=0-99', [[0, 99]]],
  ['bytes=0-', [[0, 99]]],
  ['bytes=50-1000', [[50, 99]]],
  ['bytes=99-', [[99, 99]]],
  ['bytes=-1', [[99, 99]]],
  ['bytes=-1000', [[0, 99]]],
  ['Bytes=1-2', [[1, 2]]],
  [
    'bytes=0-1,10-11',
    [
      [0, 1],
      [10, 11],
    ],
  ],
  [
    'bytes=10-11, 0-1',
    [
      [10, 11],
      [0, 1],
    ],
  ],
  ['bytes=0-10,5-20,21-30', [[0, 30]]],
  ['bytes=0-1,200-300', [[0, 1]]],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=200-300,400-', 'unsatisfiable'],
  [undefined, whole],
  ['', whole],
  ['bytes', whole],
  ['bytes=', whole],
  ['bytes=-', whole],
  ['bytes=a-b', whole],
  ['bytes=1-2x', whole],
  ['bytes=1-2,', whole],
  ['bytes=1-2;3-4', whole],
  ['bytes=0x1-5', whole],
  ['items=0-5', whole],
  ['items=500-600', whole],
  [`bytes=${Array.from({ length: 17 }, (_, index) => `${index * 3}-${index * 3}`).join(',')}`, whole],
])('%s of 100 bytes', (header, expected) => {
  const ranges = rangesOf(100, header);
  expect(Array.isArray(ranges) ? ranges.map(({ start, end }) => [start, end]) : ranges).toEqual(expected);
});

it.each([
  ['bytes=0-0', { offsetBytes: 0, lengthBytes: 1 }],
  ['Bytes=5-9', { offsetBytes: 5, lengthBytes: 5 }],
  ['bytes=7-', { offsetBytes: 7 }],
  [undefined, undefined],
  ['', undefined],
  ['bytes=-5', undefined],
  ['bytes=9-5', undefined],
  ['bytes=0-1,5-6', undefined],
  ['items=0-5', undefined],
  ['bytes=99999999999999999-', undefined],
  [`bytes=0-${Number.MAX_SAFE_INTEGER}`, undefined],
])('%s may be opened before the size is known as %j', (header, expected) => {
  expect(singleRange(header)).toEqual(expected);
});

it.each(['bytes=0-', 'bytes=0-0', 'bytes=-5'])('nothing of an empty file can be asked for: %s', (header) => {
  expect(rangesOf(0, header)).toBe('unsatisfiable');
});

describe('a body', () => {
  const body = (...given: Parameters<typeof planBody>) => planBody(...given);

  it('is the whole file', () => {
    expect(body(undefined, 10, 'text/plain')).toEqual({
      status: 200,
      headers: { 'Content-Length': 10 },
      parts: [{ preamble: '', range: { start: 0, end: 9 } }],
      epilogue: '',
    });
  });

  it('of an empty file has no part', () => {
    expect(body(undefined, 0, 'text/plain')).toEqual({ status: 200, headers: { 'Content-Length': 0 }, parts: [], epilogue: '' });
  });

  it('is one range', () => {
    expect(body([{ start: 2, end: 5 }], 10, 'text/plain')).toMatchObject({
      status: 206,
      headers: { 'Content-Length': 4, 'Content-Range': 'bytes 2-5/10' },
    });
  });

  it('is several ranges between boundaries, and says how long they all are', () => {
    const plan = body(
      [
        { start: 0, end: 1 },
        { start: 8, end: 8 },
      ],
      10,
      'text/plain',
    );
    const boundary = /boundary=([0-9a-f]{32})$/.exec(String(plan.headers['Content-Type']))?.[1];
    const text = `${plan.parts[0]?.preamble}ab${plan.parts[1]?.preamble}i${plan.epilogue}`;
    expect(text).toBe(
      [
        `--${boundary}`,
        'Content-Type: text/plain',
        'Content-Range: bytes 0-1/10',
        '',
        'ab',
        `--${boundary}`,
        'Content-Type: text/plain',
        'Content-Range: bytes 8-8/10',
        '',
        'i',
        `--${boundary}--`,
        '',
      ].join('\r\n'),
    );
    expect(plan).toMatchObject({ status: 206, headers: { 'Content-Length': text.length } });
    expect(plan.headers['Content-Range']).toBeUndefined();
  });
});
