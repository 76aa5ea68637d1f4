import { describe, expect, it } from 'vitest';
import { asKept, hasOthers, labelOfChoice, missingOptions, type Option, valueIn, withValue } from './named-options.ts';

const option = (name: string, rest: Partial<Option> = {}): Option => ({
  ...{ name, item: 'options', type: 'string', help: '', default: '', choices: [] },
  ...{ exclusive: false, required: false, secret: false, advanced: false, shapes: false },
  ...rest,
});
const URL_OPTION = option('url', { required: true });
const KEY = option('key_pem', { type: 'text' });

describe('options that are kept in one text', () => {
  it('are read as the server reads them, and written as an object', () => {
    const text = '\n  url=https://a.example.org/?a=b\nuser =   anna \n';
    expect(valueIn(text, URL_OPTION)).toBe('https://a.example.org/?a=b');
    expect(valueIn(text, option('pass'))).toBe('');
    expect(valueIn(text, option('user'))).toBe('anna');
    expect(JSON.parse(withValue(text, URL_OPTION, 'https://b'))).toEqual({ url: 'https://b', user: 'anna' });
    const three = withValue(text, option('vendor'), 'other');
    expect(Object.keys(JSON.parse(three))).toEqual(['url', 'user', 'vendor']);
    expect(valueIn(three, option('vendor'))).toBe('other');
    expect(JSON.parse(withValue(three, option('user'), ''))).toEqual({ url: 'https://a.example.org/?a=b', vendor: 'other' });
    expect(withValue('', URL_OPTION, '')).toBe('');
    expect(withValue(withValue('', URL_OPTION, 'a'), URL_OPTION, '')).toBe('');
    for (const unfinished of ['{"url": ', 'no line of ours']) expect(withValue(unfinished, URL_OPTION, 'a')).toBe(unfinished);
  });

  it('have values that are texts, whatever an object has', () => {
    expect(valueIn('{"port": 21, "tls": true}', option('port'))).toBe('21');
    expect(valueIn('{"port": 21, "tls": true}', option('tls'))).toBe('true');
    expect(valueIn('{"port": 21', option('port'))).toBe('');
  });

  it('keep what is being written: a space at the end is not taken away', () => {
    expect(valueIn(withValue('', option('user'), 'anna '), option('user'))).toBe('anna ');
  });

  it('keep texts of several lines in one', () => {
    const text = withValue('', KEY, '-----BEGIN\nabc\n-----END\n');
    expect(JSON.parse(text)).toEqual({ key_pem: '-----BEGIN\\nabc\\n-----END\\n' });
    expect(valueIn(text, KEY)).toBe('-----BEGIN\nabc\n-----END\n');
  });

  it('are told from what no field shows', () => {
    expect(hasOthers('url = a\n\n', [URL_OPTION])).toBe(false);
    expect(hasOthers('url = a\nnewer = b', [URL_OPTION])).toBe(true);
    expect(hasOthers('no line of ours', [URL_OPTION])).toBe(true);
    expect(hasOthers('{"url": "a"}', [URL_OPTION])).toBe(false);
    expect(hasOthers('{"url": "a", "newer": "b"}', [URL_OPTION])).toBe(true);
    expect(hasOthers('{"url": ', [URL_OPTION])).toBe(true);
  });

  it('stay where they were written by hand', () => {
    const texts: Record<string, string> = { options: 'url = a', secrets: 'user = anna\npass = b' };
    const kept = (each: Option) => asKept(each, ['options', 'secrets'], (item) => texts[item] ?? '');
    expect(kept(URL_OPTION)).toBe(URL_OPTION);
    expect(kept(option('user'))).toMatchObject({ item: 'secrets', secret: true });
    expect(kept(option('vendor'))).toMatchObject({ item: 'options', secret: false });
    expect(kept(option('pass', { item: 'secrets', secret: true }))).toMatchObject({ item: 'secrets' });
  });

  it('are missing where they have to be given', () => {
    const options = [URL_OPTION, option('user'), option('port', { required: true, default: '21' })];
    expect(missingOptions(options, () => '').map(({ name }) => name)).toEqual(['url']);
    expect(missingOptions(options, () => 'x')).toEqual([]);
  });
});

it('a choice is its value and what is said of it, in short', () => {
  expect(labelOfChoice({ value: 'drive', help: 'Google Drive' })).toBe('drive – Google Drive');
  expect(labelOfChoice({ value: 'webdav', help: 'WebDAV' })).toBe('WebDAV');
  expect(labelOfChoice({ value: 'x', help: '' })).toBe('x');
  expect(labelOfChoice({ value: 's3', help: `${'word '.repeat(40)}\nmore` })).toMatch(/^s3 – (word ){15}word…$/);
});
