import { describe, expect, it } from 'vitest';
import { childrenOf, escapeXml, parseXml, textOf } from './xml.ts';

const MAX_BYTES = 1024 * 1024;

/** Reads a document that comes in pieces of so many bytes. */
function read(text: string, pieceBytes = 1 << 20) {
  const bytes = Buffer.from(text);
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  return parseXml(pieces(), MAX_BYTES);
}

const PAGE = `<?xml version="1.0" encoding="UTF-8"?>
<!-- a <page> of > a store -->
<s3:Page xmlns:s3='http://example/?a>b' note="it's > that">
  <Contents><Key>a&amp;b &lt;c&gt; &quot;d&quot; &apos;e&apos; &#228;&#x1F600;</Key><Size>1</Size><Empty /></Contents>
  <Contents><Key><![CDATA[<x> & ]] &amp; y]]></Key><Size>2</Size></Contents>
</s3:Page>
`;

describe('an answer', () => {
  it.each([1, 2, 3, 7, 1 << 20])('in pieces of %d bytes is read whole', async (pieceBytes) => {
    const page = await read(PAGE, pieceBytes);
    expect(page.name).toBe('Page');
    const contents = childrenOf(page, 'Contents');
    expect(contents.map((each) => [textOf(each, 'Key'), textOf(each, 'Size'), textOf(each, 'Empty')])).toEqual([
      [`a&b <c> "d" 'e' ä😀`, '1', ''],
      ['<x> & ]] &amp; y', '2', undefined],
    ]);
  });

  it.each([1, 1 << 20])('after blank lines is read, in pieces of %d bytes', async (pieceBytes) => {
    expect(await read('\r\n \n<?xml version="1.0"?><a>b</a>\n', pieceBytes)).toMatchObject({ name: 'a', text: 'b' });
  });

  it('gives back what was escaped', async () => {
    const text = 'a&b<c>"d"\'e\'\r\n\tä';
    expect((await read(`<a>${escapeXml(text)}</a>`)).text).toBe(text);
  });

  it.each([
    '',
    'text',
    '<a>',
    '<a></b>',
    '</a>',
    '<a/>text',
    '<a><b</a>',
    '<a b="',
    '<!-- a',
    '<a><![CDATA[x</a>',
    '<!DOCTYPE a><a/>',
    '<!ELEMENT a>',
    '<a>'.repeat(9) + '</a>'.repeat(9),
  ])('%# that is no document is refused', async (text) => {
    for (const pieceBytes of [1 << 20, 5]) await expect(read(text, pieceBytes)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it.each([
    ['a section', `<a><![CDATA[${']'.repeat(2 * MAX_BYTES)}`, 'bytes of XML'],
    ['a comment', `<a><!--${'x'.repeat(2 * MAX_BYTES)}`, 'bytes of XML'],
    ['text', `<a>${'x'.repeat(2 * MAX_BYTES)}`, 'bytes of XML'],
    ['text that ends', `<a>${'x'.repeat(400_000)}</a>`, 'XML with too long a text'],
    ['attributes', `<a ${Array.from({ length: 40_000 }, (_, index) => `b${index}=""`).join(' ')}/>`, 'XML of too many attributes'],
  ])('%s without end is refused before it is taken together', async (_what, text, reason) => {
    await expect(read(text, 64 * 1024)).rejects.toMatchObject({ message: expect.stringContaining(reason) });
  });

  it('blanks between elements are not kept', async () => {
    expect(await read(`<a>${`<b/>${' '.repeat(1_000)}`.repeat(500)}</a>`)).toMatchObject({ text: '', children: { length: 500 } });
  });

  it.each(['&x;', '&amp', '&', '&#0;', '&#xD800;', '&#x110000;', '&constructor;'])('with %s is refused', async (reference) => {
    await expect(read(`<a>${reference}</a>`)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('with a tag that does not end is refused', async () => {
    await expect(read(`<a ${'b'.repeat(900_000)}`, 4_096)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });
});
