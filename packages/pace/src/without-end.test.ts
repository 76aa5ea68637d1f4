import { expect, it } from 'vitest';
import { withoutEnd } from './without-end.ts';

it.each([
  ['', ''],
  ['//', ''],
  ['/a/b', '/a/b'],
  ['/a//b///', '/a//b'],
])('%j without slashes at its end is %j', (text, without) => expect(withoutEnd(text, '/')).toBe(without));
