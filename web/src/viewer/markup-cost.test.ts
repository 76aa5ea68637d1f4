import { expect, test } from 'vitest';
import { cellsAtMost, elementsAtMost } from './markup-cost.ts';

const many = (count: number, tag: (at: number) => string) => Array.from({ length: count }, (_, at) => tag(at)).join('');
const ofAuthor = (html: string) => elementsAtMost(html, html);

test('what markdown itself makes costs what it has of tags', () => {
  const html = many(
    1_000,
    (at) => `<p><strong>${at}</strong> <a href="x?a=1&amp;b">a</a></p><pre><code class="language-${at}">x</code></pre>`,
  );
  expect(elementsAtMost(html, '')).toBe(5_000);
});

test('the same few tags of an author cost a few times more', () => {
  expect(ofAuthor(many(1_000, () => '<p><b>a</b> <font color="red">b</font> <br/></p>'))).toBe(4_000 * 7);
});

test.each([
  ['of different ids', (at: number) => `<b id=a${at}>`],
  ['in quotes, with the end of a tag in them', (at: number) => `<b title=">${at}">`],
  ['in quotes of the other kind', (at: number) => `<i title='>"${at}'>`],
  ['that are odd', (at: number) => `<font a"='${at}>`],
  ['that are odd behind the same beginning', (at: number) => `<tt"x/ a=" >${at}"><u =">${at}">`],
  ['with lines in them', (at: number) => `<CODE\n\tid="${at}"\n>`],
])('tags that nobody ends, %s, cost as many elements as there are blocks for each', (_, tag) => {
  expect(ofAuthor(`<p>${many(400, tag)}${'</p><p>x'.repeat(400)}`)).toBeGreaterThan(400 * 400);
});

test('counts the cells that a table gets for each of its lines, wherever it lies', () => {
  for (const begin of ['', '> ', '- ', '1. > '])
    expect(cellsAtMost(`${begin}|a|b|\n${begin}|-|${':-:|'.repeat(998)}\n${`${begin}x\n`.repeat(500)}`)).toBeGreaterThanOrEqual(500_000);
  expect(cellsAtMost('a | b\n-|-\nc | d\n\n'.repeat(1_000))).toBeLessThan(10_000);
  expect(cellsAtMost(`# Title\n---\n${'some words | of prose - and more\n'.repeat(10_000)}`)).toBe(0);
});
