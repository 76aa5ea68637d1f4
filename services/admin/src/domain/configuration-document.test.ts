import { expect, it } from 'vitest';
import { readSecrets } from './configuration-document.ts';

it('secrets are counted before anything is made of them', () => {
  const wrong = Object.fromEntries(Array.from({ length: 50_001 }, (_, index) => [index, 1]));
  expect(() => readSecrets(JSON.stringify({ settings: wrong }))).toThrow('the secrets are too many');
  expect(readSecrets('{"metas":{"/a":"b"}}')).toEqual({ settings: {}, storages: {}, metas: { '/a': 'b' } });
});
