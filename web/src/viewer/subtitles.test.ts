import { expect, it } from 'vitest';
import { subtitlesOf, toVtt } from './subtitles.ts';

it('finds those of a film, with what tells them apart', () => {
  const names = ['Film.mp4', 'Film.srt', 'film.de.vtt', 'Film 2.srt', 'Filmed.srt', 'Film.txt', 'Film.zh-Hans.SRT'];
  expect(subtitlesOf('Film.mp4', names)).toEqual([
    { name: 'film.de.vtt', label: 'de' },
    { name: 'Film.srt', label: 'Film.srt' },
    { name: 'Film.zh-Hans.SRT', label: 'zh-Hans' },
  ]);
  expect(subtitlesOf('none.mp4', names)).toEqual([]);
});

it('takes thirty of a film at most, the first by name', () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `Film.${String(index).padStart(4, '0')}.srt`).reverse();
  const found = subtitlesOf('Film.mp4', names);
  expect(found.length).toBe(30);
  expect(found.at(-1)).toEqual({ name: 'Film.0029.srt', label: '0029' });
});

it('leaves WebVTT as it is', () =>
  expect(toVtt('WEBVTT\n\n00:01.000 --> 00:02.000\nHello')).toBe('WEBVTT\n\n00:01.000 --> 00:02.000\nHello'));

it('makes it of SubRip', () => {
  const subRip =
    '\uFEFF1\r\n0:00:01,500 --> 00:00:02,000  X1:0\r\n{\\an8}<font color="red">Hello</font>, <i>you</i>\r\n\r\n2\r\n00:01:00,000 --> 00:01:01,000\r\n12,000 and more\r\n';
  expect(toVtt(subRip)).toBe(
    'WEBVTT\n\n1\n00:00:01.500 --> 00:00:02.000\nHello, <i>you</i>\n\n2\n00:01:00.000 --> 00:01:01.000\n12,000 and more\n',
  );
});

it('a mark ends before the next one begins, so that a million which do not end cost no more than their length', () => {
  expect(toVtt('{\\a{\\an8}x<font <font color="red">y')).toBe('WEBVTT\n\n{\\ax<font y');
  for (const mark of ['{\\', '<font']) {
    const text = mark.repeat(1_000_000);
    expect(toVtt(text) === `WEBVTT\n\n${text}`).toBe(true);
  }
});
