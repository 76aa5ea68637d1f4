import { expect, it } from 'vitest';
import { formOf } from './text-form.ts';

it.each([
  ['', { mark: '', lineEnd: '\n' }],
  ['one\ntwo ü', { mark: '', lineEnd: '\n' }],
  ['\uFEFFone\r\ntwo\r\n', { mark: '\uFEFF', lineEnd: '\r\n' }],
  ['mixed\r\nlines\n', undefined],
  ['old\rlines', undefined],
])('%j has the form %j', (text, form) => expect(formOf(new TextEncoder().encode(text))).toEqual(form));

it('what is not UTF-8 has no form that could be kept', () => expect(formOf(Uint8Array.of(0x73, 0xf6))).toBeUndefined());
