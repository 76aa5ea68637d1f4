import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { flag, id, int32, integer, list, names, requiredText, text, texts } from '../api/fields.ts';
import { ROUTES } from '../api/route-table.ts';
import { createInputDecoder, MAX_ELEMENTS, type RawInput } from './decode-input.ts';
import { parsePairs } from './parse-pairs.ts';

const listInput = z.object({ path: text(), page: integer(1), refresh: flag(), tags: texts(), order: int32() });
const decodeList = createInputDecoder(listInput, { isBodyOnly: true });
const DEFAULTS = { path: '', page: 1, refresh: false, tags: [], order: 0 };

const json = (value: unknown, query = ''): RawInput => ({ query, body: { kind: 'json', value } });
const form = (fields: string, query = ''): RawInput => ({ query, body: { kind: 'form', fields: parsePairs(fields) } });
const query = (text: string): RawInput => ({ query: text, body: { kind: 'none' } });

function refusal(decode: () => unknown): string {
  try {
    decode();
  } catch (error) {
    if (AppError.is(error, 'INVALID_ARGUMENT')) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('an input from JSON', () => {
  it.each([
    ['nothing', {}, DEFAULTS],
    ['null as a whole', null, DEFAULTS],
    ['null as a value', { path: null, page: null, refresh: null, tags: null }, DEFAULTS],
    [
      'declared values',
      { path: '/a', page: 2, refresh: true, tags: ['x'], order: -1 },
      { path: '/a', page: 2, refresh: true, tags: ['x'], order: -1 },
    ],
    ['keys of any case', { PATH: '/a', Page: 3, rEFRESH: true }, { ...DEFAULTS, path: '/a', page: 3, refresh: true }],
    ['unknown keys', { path: '/a', other: { deep: [1] } }, { ...DEFAULTS, path: '/a' }],
    [
      'keys of the prototype',
      JSON.parse('{"__proto__":{"path":"/evil"},"constructor":{"prototype":{"page":9}},"path":"/a"}'),
      { ...DEFAULTS, path: '/a' },
    ],
  ])('%s is read', (_name, value, expected) => {
    expect(decodeList(json(value))).toEqual(expected);
    expect(Object.hasOwn(Object.prototype, 'path')).toBe(false);
  });

  it.each([
    [{ path: 5 }, "the field 'path' must be a string, not a number"],
    [{ path: ['a'] }, "the field 'path' must be a string, not an array"],
    [{ page: '5' }, "the field 'page' must be a number, not a string"],
    [{ page: 1.5 }, "the field 'page' must be an int, not a fraction"],
    [{ refresh: 'yes' }, "the field 'refresh' must be a boolean, not a string"],
    [{ refresh: 1 }, "the field 'refresh' must be a boolean, not a number"],
    [{ tags: 'x' }, "the field 'tags' must be an array, not a string"],
    [{ tags: ['x', 5] }, "the field 'tags.1' must be a string, not a number"],
    [[], 'the input must be an object, not an array'],
    [5, 'the input must be an object, not a number'],
    ['x', 'the input must be an object, not a string'],
  ])('%j is refused with a sentence', (value, sentence) => {
    expect(refusal(() => decodeList(json(value)))).toBe(sentence);
  });

  it('a number out of the range of its field is refused with a sentence', () => {
    expect(refusal(() => decodeList(json({ order: 2 ** 31 })))).toMatch(/^the field 'order' is not usable: too big/);
  });

  it('the query does not count beside a JSON body on a route that takes its body', () => {
    expect(decodeList(json({}, 'path=/query'))).toEqual(DEFAULTS);
  });
});

describe('an input from texts', () => {
  it.each([
    ['path=/a%20b&page=2&refresh=true', { ...DEFAULTS, path: '/a b', page: 2, refresh: true }],
    ['PATH=/a&Refresh=1', { ...DEFAULTS, path: '/a', refresh: true }],
    ['page=&refresh=&path=', DEFAULTS],
    ['refresh=F&page=-3&unknown=1', { ...DEFAULTS, page: -3 }],
    ['tags=a&tags=b', { ...DEFAULTS, tags: ['a', 'b'] }],
    ['__proto__=x&constructor=y&path=/a', { ...DEFAULTS, path: '/a' }],
  ])('%s is read, as a form and as a query', (pairs, expected) => {
    expect(decodeList(form(pairs))).toEqual(expected);
    expect(decodeList(query(pairs))).toEqual(expected);
  });

  it.each([
    ['page=x', "the field 'page' must be a number, not a string"],
    ['page=1.5', "the field 'page' must be a number, not a string"],
    ['refresh=yes', "the field 'refresh' must be a boolean, not a string"],
  ])('%s is refused', (pairs, sentence) => {
    expect(refusal(() => decodeList(form(pairs)))).toBe(sentence);
  });

  it('a form counts before the query', () => {
    expect(decodeList(form('path=/form', 'path=/query&page=7'))).toEqual({ ...DEFAULTS, path: '/form', page: 7 });
  });
});

describe('required fields', () => {
  const decode = createInputDecoder(z.object({ username: requiredText(), names: names() }), { isBodyOnly: true });

  it.each([[{ names: ['a'] }], [{ username: null, names: ['a'] }], [{ username: '', names: ['a'] }]])('%j lacks one', (value) => {
    expect(refusal(() => decode(json(value)))).toBe("the field 'username' is required");
  });

  it('a message that a field brings is said literally', () => {
    expect(refusal(() => decode(json({ username: 'x', names: [] })))).toBe('Empty file names');
    expect(refusal(() => decode(json({ username: 'x' })))).toBe('Empty file names');
  });

  it('a route may say one text for everything', () => {
    const own = createInputDecoder(z.object({ title: requiredText() }), { isBodyOnly: true, refusal: 'request invalid' });
    expect([refusal(() => own(json({}))), refusal(() => own(json({ title: 5 })))]).toEqual(['request invalid', 'request invalid']);
  });
});

describe('ids', () => {
  const decode = createInputDecoder(z.object({ id: id() }), { isBodyOnly: false });

  it.each([
    ['the query', query('id=7')],
    ['the query beside an empty body', json(null, 'id=7')],
    ['the query beside another body', json({ name: 'x' }, 'id=7')],
    ['a JSON number', json({ id: 7 })],
    ['JSON digits', json({ id: '7' })],
    ['a form', form('id=7')],
  ])('come in %s', (_name, raw) => {
    expect(decode(raw)).toEqual({ id: 7 });
  });

  it.each([
    [query('id=abc'), "the field 'id' must be a number"],
    [query('id=-1'), "the field 'id' must be a number"],
    [json({ id: 1.5 }), "the field 'id' must be a number"],
    [json({ id: [7] }), "the field 'id' must be a number"],
    [query(''), "the field 'id' is required"],
    [query('id='), "the field 'id' is required"],
  ])('%j is none', (raw, sentence) => {
    expect(refusal(() => decode(raw))).toBe(sentence);
  });
});

describe('an array as the whole body', () => {
  const decode = createInputDecoder(z.array(z.object({ key: requiredText(), value: text() })), { isBodyOnly: true });

  it('has the rules of its elements', () => {
    expect(decode(json([{ KEY: 'a', value: null, extra: 1 }]))).toEqual([{ key: 'a', value: '' }]);
    expect(refusal(() => decode(json([{ key: 'a' }, { value: 'x' }])))).toBe("the field '1.key' is required");
    expect(refusal(() => decode(json({ key: 'a' })))).toBe('the input must be an array, not an object');
    expect(refusal(() => decode(form('key=a')))).toBe('the input is required');
  });
});

describe('a long list', () => {
  it('of a form is read once through, and refused when it is too long', () => {
    const fields = (count: number) => Array.from({ length: count }, () => 'tags=a').join('&');
    expect(decodeList(form(fields(10_000)))).toMatchObject({ tags: expect.objectContaining({ length: 10_000 }) });
    expect(refusal(() => decodeList(form(fields(10_001))))).toMatch(/no more than 10000 at once/);
    expect(refusal(() => decodeList(form(fields(400_000))))).toMatch(/no more than 20000 fields at once/);
    expect(refusal(() => decodeList(json({ tags: Array.from({ length: 10_001 }, () => 'a') })))).toMatch(/no more than 10000 at once/);
  });

  it.each([100, 200, 400, 100_000])('of %i wrong elements is looked at as far as the first', (count) => {
    let looks = 0;
    const element = z.object({ key: requiredText(), order: int32() }).refine(() => {
      looks += 1;
      return true;
    });
    const decode = createInputDecoder(z.object({ items: list(element) }), { isBodyOnly: true });
    const items: unknown[] = Array.from({ length: count }, () => ({ key: 5, order: 'x' }));
    try {
      decode(json({ items: [{ key: 'a' }, ...items] }));
    } catch (error) {
      expect(AppError.from(error).details).toEqual({ fields: ['items.1.key', 'items.1.order'] });
    }
    expect(looks).toBe(2);
  });

  it('of any route has a bound', () => {
    const unbounded: string[] = [];
    const look = (schema: z.core.$ZodType, at: string): void => {
      if (schema instanceof z.ZodArray) {
        if (!(Number(z.toJSONSchema(schema, { unrepresentable: 'any' })['maxItems']) <= MAX_ELEMENTS)) unbounded.push(at);
        look(schema.element, at);
      } else if (schema instanceof z.ZodObject) for (const [name, part] of Object.entries(schema.shape)) look(part, `${at} ${name}`);
      else if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
        look(schema.unwrap(), at);
    };
    for (const { input, path } of ROUTES) look(input, path);
    expect(unbounded).toEqual([]);
  });
});
