import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { put } from './files.ts';
import type { World } from './world.ts';

/** Files that run a script where a browser shows them as what they say they are. */
export interface HostileFile {
  readonly name: string;
  readonly content: string | Buffer;
}

/** @param beacon an address that the scripts call when they run */
export function hostileFiles(beacon: string): HostileFile[] {
  const script = `try{localStorage.setItem('ran','1')}catch{};new Image().src='${beacon}?file';fetch('${beacon}?fetch',{mode:'no-cors'})`;
  const html = `<!doctype html><title>x</title><script>${script}</script><img src=x onerror="${script.replaceAll('"', '&quot;')}">`;
  const cdata = `<![CDATA[${script}]]>`;
  const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title><script>${cdata}</script></head><body onload="1"/></html>`;
  const sheet = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><html><script>${cdata}</script></html></xsl:template></xsl:stylesheet>`;
  const mht = `MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b; type="text/html"\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`;
  return [
    { name: 'page.html', content: html },
    { name: 'page.HTM', content: html },
    { name: 'page.shtml', content: html },
    { name: 'page.xhtml', content: `<?xml version="1.0"?>${xhtml}` },
    { name: 'page.xht', content: `<?xml version="1.0"?>${xhtml}` },
    {
      name: 'picture.svg',
      content: `<svg xmlns="http://www.w3.org/2000/svg" onload="${script.replaceAll('"', '&quot;')}"><script>${cdata}</script></svg>`,
    },
    { name: 'feed.xml', content: `<?xml version="1.0"?>${xhtml}` },
    {
      name: 'styled.xml',
      content: `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="data:text/xml,${encodeURIComponent(sheet)}"?><x/>`,
    },
    { name: 'sheet.xsl', content: `<?xml version="1.0"?>${sheet}` },
    { name: 'feed.rdf', content: `<?xml version="1.0"?>${xhtml}` },
    { name: 'note.md', content: `# Note\n\n${html}\n\n[click](javascript:${encodeURIComponent(script)})` },
    { name: 'plain.txt', content: html },
    { name: 'no-extension', content: html },
    { name: 'unknown.xyz', content: html },
    { name: 'wrong.png', content: html },
    { name: 'wrong.jpg', content: html },
    { name: 'frame.mht', content: mht },
    { name: 'frame.mhtml', content: mht },
    { name: 'run.js', content: script },
    { name: 'part.htc', content: html },
    { name: 'list.plist', content: `<?xml version="1.0"?>${xhtml}` },
    { name: 'paper.pdf', content: pdf(beacon) },
    { name: 'book.epub', content: zip('OEBPS/page.xhtml', xhtml) },
    { name: `<img src=x onerror=fetch('${encodeURIComponent(beacon)}')>.html`, content: html },
    { name: `"><script>fetch(decodeURIComponent('${encodeURIComponent(beacon)}'))<`, content: html },
  ].map(({ name, content }) => ({ name: name.replaceAll('/', '_'), content }));
}

/** Stores them all, and a markdown text that costs far more than its length, in a folder. @returns their names, and what their scripts called so far */
export async function storeHostileFiles({ admin, base }: World, path: string): Promise<{ names: string[]; beacons: readonly string[] }> {
  const beacons: string[] = [];
  const elsewhere = createServer((request, response) => {
    beacons.push(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void elsewhere.close());
  const hostile = hostileFiles(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/beacon`);
  const files = [...hostile, { name: 'marks.md', content: '*a_'.repeat(20_000) }];
  for (const { name, content } of files) await put(admin, base, `${path}/${name}`, content);
  return { names: files.map(({ name }) => name), beacons };
}

/** A script that tells whether the page shows a file: its name, and what there is to see of it. */
export function isShown(name: string): string {
  const stage = `(document.querySelector('[role="dialog"] .viewer-stage')?.textContent ?? 'Loading…')`;
  return `document.querySelector('.viewer-name')?.textContent === ${JSON.stringify(name)} && ${stage} !== 'Loading…'`;
}

/** A PDF that calls the beacon when it is opened. */
function pdf(beacon: string): string {
  return `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.launchURL\\("${beacon}?pdf"\\);)>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/AA<</O<</S/URI/URI(${beacon}?pdf)>>>>>>endobj
trailer<</Root 1 0 R>>
%%EOF`;
}

/** An archive of one file. */
function zip(name: string, content: string): Buffer {
  const data = deflateRawSync(content);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(data.length, 18);
  local.writeUInt32LE(Buffer.byteLength(content), 22);
  local.writeUInt16LE(name.length, 26);
  return Buffer.concat([local, Buffer.from(name), data]);
}
