import { expect, it } from 'vitest';
import { createJsonList } from './json-list.ts';

it('keeps bytes and counts these, not the letters', () => {
  const held: number[] = [];
  const list = createJsonList((lengthBytes) => held.push(lengthBytes));
  list.add(['é']);
  list.add([]);
  list.add([{ name: '照片' }]);
  const [begin, ...parts] = list.pieces();
  expect([begin, parts.pop()]).toEqual(['[', ']']);
  expect(parts.map(String)).toEqual(['"é"', ',{"name":"照片"}']);
  expect(held).toEqual([4, 4 + 18]);
  for (const part of parts) expect(part).toBeInstanceOf(Buffer);
});
