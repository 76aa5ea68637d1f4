import { expect, it } from 'vitest';
import { installManifest } from './install-manifest.ts';

const nameOf = (url: string, title: string) =>
  Buffer.from(`${encodeURIComponent(url)}/${encodeURIComponent(title)}`)
    .toString('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '.');

it('an app is installed from its link, under its name and identifier', () => {
  const text = installManifest(nameOf('https://files.example/d/Ä app.ipa?sign=a%2Fb', 'My App@com.example.my-app'));
  expect(text).toContain('<key>url</key><string>https://files.example/d/%C3%84%20app.ipa?sign=a%2Fb</string>');
  expect(text).toContain('<key>bundle-identifier</key><string>com.example.my-app</string>');
  expect(text).toContain('<key>title</key><string>My App</string>');
  expect(installManifest(nameOf('http://a.example/x.ipa', 'no id'))).toContain('<string>app.no%20id</string>');
});

it('nothing in it is markup', () => {
  const text = installManifest(nameOf('https://a.example/?<x>&"', '</string><script>@"\'<b>'));
  expect(text).not.toMatch(/<script|<b>|<x>/);
  expect(text).toContain('&lt;/string&gt;&lt;script&gt;');
});

it.each([
  '',
  '....',
  'AAAA',
  nameOf('javascript:alert(1)', 'x'),
  nameOf('no address', 'x'),
  Buffer.from('%zz/%zz').toString('base64'),
  'A'.repeat(10_000),
])('what names no app is refused: %s', (name) => {
  expect(() => installManifest(name)).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});
