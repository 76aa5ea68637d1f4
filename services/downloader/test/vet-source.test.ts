import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExternalTool } from '../src/tools/external-tool.ts';
import { vetSource } from '../src/tools/vet-source.ts';

/** Names that resolve: to the public Internet, or inside. */
const NAMES: Readonly<Record<string, string>> = {
  'tracker.example': '1.1.1.1',
  'inside.example': '10.0.0.1',
  'files.example': '127.0.0.1',
};
const policy = createEgressPolicy({
  allow: ['files.example'],
  forbidden: [],
  audience: 'user',
  resolve: async (host) => {
    const address = NAMES[host];
    if (!address) throw new Error('no such name');
    return [address];
  },
});
const network = { policy, client: createGuardedClient(policy, { maxConnections: 2 }) };
const files = new Map<string, string>();
let base = '';
let server: http.Server;
/** Silent answers whose client has gone, and an event for each that has begun. */
const left: string[] = [];
const heads = new EventEmitter();

beforeAll(async () => {
  server = http.createServer((request, response) => {
    const content = files.get(request.url ?? '') ?? '';
    if (content !== 'falls silent') return void response.end(content);
    response.writeHead(200, { 'Content-Length': '100000' }).write('d');
    response.once('close', () => left.push(request.url ?? ''));
    heads.emit(request.url ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://files.example:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  network.client.close();
  server.close();
});

const nothing = () => Promise.reject(new Error('a tool is not asked'));
const toolOf = (...kinds: Array<'url' | 'magnet' | 'torrent' | 'metalink'>): ExternalTool => ({
  name: 'tool',
  kinds: new Set(kinds),
  needsReplica: false,
  ...{ add: nothing, find: nothing, pause: nothing, resume: nothing, remove: nothing, removeFrom: nothing, version: nothing },
});
const silent = (path: string) => {
  files.set(path, 'falls silent');
  return `${base}${path}`;
};
const all = toolOf('url', 'magnet', 'torrent', 'metalink');
const vet = (text: string, tool = all) => vetSource({ policy, network }, tool, text, AbortSignal.timeout(10_000));
const served = (path: string, content: string) => {
  files.set(path, content);
  return `${base}${path}`;
};
const hash = 'c12fe1c06bba254a9dc9f519b335aa7c1367a88a';
const refused = { code: 'PERMISSION_DENIED' };
const INFO = '4:infod4:name1:x12:piece lengthi1e6:pieces0:e';

/** A network whose only answer has this body, each byte of it in the same memory. */
function lendingNetwork(content: string): typeof network {
  const lent = Buffer.alloc(1);
  const answer = {
    ...{ statusCode: 200, headers: {}, complete: true, destroy: () => {}, once: () => {} },
    async *[Symbol.asyncIterator]() {
      for (const byte of Buffer.from(content)) {
        lent[0] = byte;
        yield lent;
      }
    },
  };
  return { policy, client: { request: async () => answer, close: () => {} } };
}

it('what comes byte by byte is put together as it comes: each piece that was kept would take hundreds of bytes', async () => {
  const torrent = `d${INFO}e`;
  const vetted = vetSource({ policy, network: lendingNetwork(torrent) }, all, `${base}/bytes.torrent`, AbortSignal.timeout(10_000));
  expect(await vetted).toMatchObject({ kind: 'torrent', content: Buffer.from(torrent) });
});

describe('a magnet link', () => {
  it('is handed over when all that it names is allowed', async () => {
    expect(await vet(`magnet:?xt=urn:btih:${hash.toUpperCase()}&tr=udp%3A%2F%2Ftracker.example%3A80%2Fannounce&dn=x`)).toMatchObject({
      kind: 'magnet',
      url: `magnet:?xt=urn:btih:${hash.toUpperCase()}&tr=udp%3A%2F%2Ftracker.example%3A80%2Fannounce&dn=x`,
      hash,
    });
    expect(await vet('magnet:?xt=urn:btih:YEX6DQDLXISUVHOJ6UM3GNNKPQJWPKEK')).toMatchObject({ hash });
    expect(await vet(`magnet:?xt=urn:btmh:1220${'ab'.repeat(32)}`)).toMatchObject({ hash: 'ab'.repeat(20) });
  });

  it.each([
    'tr=http%3A%2F%2Finside.example%2Fannounce',
    'tr=udp%3A%2F%2F10.0.0.1%3A6969',
    'tr.1=udp%3A%2F%2F127.1%3A6969',
    'tr.x=http%3A%2F%2F127.0.0.1%2Fa',
    'tr.=http%3A%2F%2F169.254.169.254%2Flatest',
    'tr%20=http%3A%2F%2F127.0.0.1%2Fa',
    'ws.a=http%3A%2F%2F127.0.0.1%2Fa',
    'dht=127.0.0.1%3A80',
    'tr=http%3A%2F%2F1.1.1.1%5C%40127.0.0.1%2F',
    'tr=http%3A%2F%2F1.1.1.1%2F%0Ahttp%3A%2F%2F127.0.0.1%2F',
    'ws=http%3A%2F%2F%5B%3A%3A1%5D%2Fx',
    'ws=ftp%3A%2F%2Ftracker.example%2Fx',
    'xs=http%3A%2F%2F169.254.169.254%2Fx',
    'as=http%3A%2F%2F0x7f000001%2F',
    'x.pe=10.0.0.1%3A80',
    'x.pe=1.1.1.1%3A80',
    'tr=wss%3A%2F%2Ftracker.example%2F',
  ])('with %s is not', async (parameter) => {
    await expect(vet(`magnet:?xt=urn:btih:${hash}&${parameter}`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(PERMISSION_DENIED|UNSUPPORTED_OPERATION)$/),
    });
  });

  it.each([
    ['dn=x\nhttp://127.0.0.1/evil.torrent', 'dn=x%20http%3A%2F%2F127.0.0.1%2Fevil.torrent'],
    ['dn=a%0Ab&xl=12&so=0-3,5', 'dn=a%20b&xl=12&so=0-3,5'],
    ['tr.x=http%3A%2F%2FTracker.example%2Fa', 'tr=http%3A%2F%2Ftracker.example%2Fa'],
    ['xs=urn%3Abtpk%3Aabc&unknown=http%3A%2F%2F127.0.0.1&xt=urn%3Ax%3A%0Ay&so=x', 'xs=urn:btpk:abc'],
  ])('with %s is made anew of what is understood', async (parameters, handedOver) => {
    expect(await vet(`magnet:?xt=urn:btih:${hash}&${parameters}`)).toMatchObject({ url: `magnet:?xt=urn:btih:${hash}&${handedOver}` });
  });

  it.each([
    `xt.1=urn:btih:${'b'.repeat(40)}`,
    'xt=urn:btih:YEX6DQDLXISUVHOJ6UM3GNNKPQJWPKEA',
    `xt=urn:btmh:1220${'ab'.repeat(32)}&xt.1=urn:btmh:1220${'cd'.repeat(32)}`,
  ])('that names a second torrent, as %s, is none: the tool may have that for somebody else', async (parameter) => {
    await expect(vet(`magnet:?xt=urn:btih:${hash}&${parameter}`)).rejects.toThrow('several torrents');
  });

  it('that names no torrent is none, and not every tool takes one', async () => {
    await expect(vet('magnet:?dn=x')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(vet(`magnet:?xt=urn:btih:${hash}`, toolOf('url'))).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
  });
});

describe('a torrent file', () => {
  it('is fetched here and handed over as it is', async () => {
    const content = `d8:announce35:udp://tracker.example:6969/announce${INFO}e`;
    const vetted = await vet(served('/good.torrent', content));
    expect(vetted).toMatchObject({ kind: 'torrent' });
    expect(vetted.kind === 'torrent' && vetted.content.toString('latin1')).toBe(content);
  });

  it.each([
    ['a tracker', `d8:announce17:http://10.0.0.1/x${INFO}e`],
    ['a list of trackers', `d13:announce-listll17:udp://10.0.0.1:1/ee${INFO}e`],
    ['a web seed', `d${INFO}8:url-list22:http://inside.example/e`],
    ['a list of web seeds', `d${INFO}8:url-listl16:http://127.0.0.1ee`],
    ['an old web seed', `d9:httpseedsl16:http://127.0.0.1e${INFO}e`],
    ['nodes', `d${INFO}5:nodesll8:10.0.0.1i80eeee`],
  ])('with %s inside is refused', async (_what, content) => {
    await expect(vet(served('/bad.torrent', content))).rejects.toMatchObject(refused);
  });

  it.each([
    '',
    'd',
    'de',
    'i1e',
    'le',
    `d${INFO}`,
    `d${INFO}ex`,
    '<html>',
    `${'l'.repeat(1000)}`,
    'd4:infoi1e3:abc99999:xe',
    'd4:info-1:e',
  ])('%s is none', async (content) => {
    await expect(vet(served('/none.torrent', content))).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });

  it('is what a tool that takes torrents alone makes of every address', async () => {
    await expect(vet(served('/page', '<html>'), toolOf('torrent', 'magnet'))).rejects.toThrowError('this is not a torrent file');
  });
});

describe('a metalink', () => {
  const metalink = (inner: string) =>
    `<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="x">${inner}</file></metalink>`;

  it.each([
    metalink('<url>http://tracker.example/x</url>'),
    `\uFEFF<?xml version='1.0' encoding='UTF-8' standalone='no' ?>\n<!-- x --><metalink version="3.0"><x:url type="http" location = "de">http://tracker.example/x</x:url></metalink>`,
  ])('%s is handed over, as its mirrors are allowed', async (content) => {
    expect(await vet(served('/good.meta4', content))).toMatchObject({ kind: 'metalink' });
  });

  it.each([
    '<url>http://inside.example/x</url>',
    '<url>http://tracker.example/x</url><url priority="1"> http://127.0.0.1/x </url>',
    '<url>http://&#49;27.0.0.1/x</url>',
    '<url>ftp://tracker.example/x</url>',
    '<é:url>http://127.0.0.1/x</é:url>',
  ])('with %s is refused', async (inner) => {
    await expect(vet(served('/bad.metalink', metalink(inner)))).rejects.toMatchObject({
      code: expect.stringMatching(/^(PERMISSION_DENIED|UNSUPPORTED_OPERATION)$/),
    });
  });

  it.each([
    '<!DOCTYPE metalink [<!ENTITY x "http://127.0.0.1/">]><metalink><url>&x;</url></metalink>',
    '<metalink><metaurl mediatype="torrent">http://tracker.example/x.torrent</metaurl><url>http://tracker.example/</url></metalink>',
    '<metalink></metalink>',
    '<metalink><url>http://tracker.exam<b/>ple/x</url></metalink>',
    '<metalink><url a="<"/>http://tracker.example/x</url></metalink>',
    '<metalink><!-- <url>http://tracker.example/x</url></metalink>',
    'nothing',
    // Of torrents nobody would look at the trackers.
    '<metalink xmlns:x="urn:ietf:params:xml:ns:metalink"><x:metaurl mediatype="torrent">http://tracker.example/x.torrent</x:metaurl><url>http://tracker.example/</url></metalink>',
    '<metalink><url type="bittorrent">http://tracker.example/x.torrent</url></metalink>',
    '<metalink><url type="http" x:type="&#98;ittorrent">http://tracker.example/x.torrent</url></metalink>',
    // What a tool reads is not what it looks like.
    '<metalink><url a=">http://tracker.example/?">http://127.0.0.1/</url></metalink>',
    '<metalink><?x <!-- ?><url>http://127.0.0.1/</url><?y --> ?><url>http://tracker.example/</url></metalink>',
    '<?xml version="1.0" encoding="UTF-7"?><metalink>+ADw-url+AD4-http://127.0.0.1/+ADw-/url+AD4-<url>http://tracker.example/</url></metalink>',
    'L<metalink><url>http://tracker.example/</url></metalink>',
    '<\0u\0r\0l\0>\0<metalink><url>http://tracker.example/</url></metalink>',
  ])('%s cannot be used', async (content) => {
    await expect(vet(served('/none.metalink', content))).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });

  it('is read with its comments taken out', async () => {
    await expect(vet(served('/split.metalink', metalink('<url>http://127.0<!-- x -->.0.1/</url>')))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
  });

  // What takes a time that grows with the square of the length takes hours here.
  it.each(['<!--', '<url ', '<url>', '<'])('of millions of %s is refused at once (C19)', async (piece) => {
    const content = `<metalink>${piece.repeat((8 * 1024 * 1024) / piece.length)}`;
    await expect(vet(served('/long.metalink', content))).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });
});

describe('a source that sends its head and falls silent', () => {
  it.each(['/silent.torrent', '/silent.metalink'])('%s: a cancel is heard at once', async (path) => {
    const cancel = new AbortController();
    const vetting = vetSource({ policy, network }, all, silent(path), cancel.signal);
    await once(heads, path);
    cancel.abort(new AppError('CANCELLED', 'the task was cancelled'));
    await expect(vetting).rejects.toMatchObject({ code: 'CANCELLED', message: 'the task was cancelled' });
    await expect.poll(() => left).toContain(path);
  });

  it('is given up after a while', async () => {
    const vetting = vetSource({ policy, network, limitMs: 200 }, all, silent('/late.torrent'), new AbortController().signal);
    await expect(vetting).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect.poll(() => left).toContain('/late.torrent');
  });
});

it('names that are looked up for ever are given up, and no further one is looked up', async () => {
  const asked: string[] = [];
  const slow = createEgressPolicy({
    ...{ allow: [], forbidden: [], audience: 'user' },
    resolve: (host) => {
      asked.push(host);
      return new Promise(() => undefined);
    },
  });
  const links = ['a', 'b', 'c'].map((name) => `&tr=http%3A%2F%2F${name}.example`).join('');
  const vetting = vetSource(
    { policy: slow, network, limitMs: 200 },
    all,
    `magnet:?xt=urn:btih:${hash}${links}`,
    new AbortController().signal,
  );
  await expect(vetting).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  expect(asked).toEqual(['a.example']);
});

it('an address of a file is looked at too', async () => {
  expect(await vet('http://tracker.example/x?y')).toEqual({ kind: 'url', url: 'http://tracker.example/x?y' });
  await expect(vet('http://inside.example/x')).rejects.toMatchObject(refused);
  await expect(vet('http://10.1.1.1/x')).rejects.toMatchObject(refused);
  await expect(vet('sftp://tracker.example/x')).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
});
