import { expect, it } from 'vitest';
import { shownError, shownName } from './shown-text.ts';

const long = 'x'.repeat(8_000);

it('names of a usual length are shown as they are', () => {
  for (const name of ['', 'copy [/a](/x) to [/b](/)', 'x'.repeat(1_000)]) expect(shownName(name)).toBe(name);
});

it('a name that is too long keeps its beginning, its end and what clients take apart', () => {
  const shown = shownName(`copy [/a](/${long}) to [/b](/${long})`);
  expect(shown).toMatch(/^copy \[\/a\]\(\/x+…x+\) to \[\/b\]\(\/x+…x+\)$/);
  expect(shown.length).toBeLessThanOrEqual(1_000);
  expect(shownName(`download http://a/${long} to (/b)`)).toMatch(/^download http:\/\/a\/x+…x+ to \(\/b\)$/);
  expect(shownName(long)).toMatch(/^x+…x+$/);
});

it('whatever is cut, it is short and of whole characters', () => {
  for (const text of [long, '😀'.repeat(4_000), `a${'😀'.repeat(4_000)}`])
    for (const shown of [shownName(text), shownError(text), shownName(`${text} to ${text}`)]) {
      expect(shown.length).toBeLessThanOrEqual(1_000);
      expect(shown.isWellFormed()).toBe(true);
    }
});
