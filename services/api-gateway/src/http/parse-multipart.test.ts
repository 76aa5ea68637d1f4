import { expect, it } from 'vitest';
import { MAX_PAIRS } from '../api/parse-pairs.ts';
import { parseMultipart } from './parse-multipart.ts';

const TYPE = 'multipart/form-data; boundary=b';
const part = (name: string, value: string, rest = '') => `--b\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n${value}\r\n`;
const parse = (text: string, type = TYPE) => parseMultipart(Buffer.from(text), type);

it('reads the text fields in their order, and passes over files', async () => {
  const body = `${part('a', '1')}${part('f', 'x'.repeat(200_000), '; filename="f"')}${part('é', 'ü+%20')}${part('a', '')}--b--\r\n`;
  expect(await parse(body)).toEqual([
    ['a', '1'],
    ['é', 'ü+%20'],
    ['a', ''],
  ]);
  expect(await parse(`${part('a', 'x'.repeat(3_000_000))}--b--\r\n`)).toEqual([['a', 'x'.repeat(3_000_000)]]);
});

it.each([
  ['no boundary', part('a', '1'), 'multipart/form-data'],
  ['no end', part('a', '1'), TYPE],
  ['nothing of a form', 'text', TYPE],
])('refuses %s', async (_what, body, type) => {
  await expect(parse(body, type)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: 'the body is not a valid form' });
});

it('refuses more parts than it takes', async () => {
  await expect(parse(`${part('a', '').repeat(MAX_PAIRS + 1)}--b--\r\n`)).rejects.toThrow('no more than 20000 fields at once');
});
