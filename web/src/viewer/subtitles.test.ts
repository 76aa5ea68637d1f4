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

it('leaves of WebVTT what is said, when and where', () =>
  expect(
    toVtt(
      'WEBVTT - of a film\n\nSTYLE\n::cue { color: red }\n\nNOTE a --> b\n\n7\n00:01.000 --> 100:00:02.000 line:0 align:start\n<i>Hello</i>\nyou\n00:03.000 --> 00:04.000\nA\n',
    ),
  ).toBe('WEBVTT\n\n00:01.000 --> 100:00:02.000 line:0 align:start\n<i>Hello</i>\nyou\n\n00:03.000 --> 00:04.000\nA'));

it('keeps ten of those that are said at once, and a thousand letters of each: browsers look for a place for each beside all others', () => {
  const at = (from: number, to: number, text: string) => `00:00:0${from}.000 --> 00:00:0${to}.000\n${text}`;
  const many = (count: number, text: string) => Array.from({ length: count }, (_, index) => text.replaceAll('#', String(index)));
  const cues = [...many(1_000, at(1, 9, 'a #')), ...many(1_000, at(2, 3, 'b #')), at(9, 9, 'never'), at(5, 4, 'never'), at(0, 1, 'first')];
  const kept = toVtt(['WEBVTT', ...cues].join('\n\n'))
    .split('\n\n')
    .slice(1);
  expect(kept).toEqual([at(0, 1, 'first'), ...many(10, at(1, 9, 'a #'))]);
  const long = many(1_000, 'line #').join('\n');
  expect(toVtt(`WEBVTT\n\n${at(1, 2, long)}`).length).toBeLessThan(1_100);
  // As many after each other as there are.
  const hours = many(5_000, '10#:00:00.000 --> 10#:00:01.000\nc');
  expect(toVtt(['WEBVTT', ...hours].join('\n\n')).split('\n\n').length).toBe(5_001);
});

it('makes it of SubRip', () => {
  const subRip =
    '\uFEFF1\r\n0:00:01,500 --> 00:00:02,000  X1:0\r\n{\\an8}<font color="red">Hello</font>, <i>you</i>\r\n\r\n2\r\n00:01:00,000 --> 00:01:01,000\r\n12,000 and more\r\n';
  expect(toVtt(subRip)).toBe(
    'WEBVTT\n\n00:00:01.500 --> 00:00:02.000\nHello, <i>you</i>\n\n00:01:00.000 --> 00:01:01.000\n12,000 and more',
  );
});

it('a mark ends before the next one begins, so that a million which do not end cost no more than their length', () => {
  const times = '00:01.000 --> 00:02.000\n';
  expect(toVtt(`${'0:'}${times.replaceAll('.', ',').replaceAll('> ', '> 0:')}{\\a{\\an8}x<font <font color="red">y`)).toMatch(
    /\n\{\\ax<font y$/,
  );
  for (const mark of ['{\\', '<font']) expect(toVtt(mark.repeat(1_000_000))).toBe('WEBVTT');
});
