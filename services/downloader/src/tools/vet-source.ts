import { createHash } from 'node:crypto';
import type { EgressPolicy } from '@wharf/egress';
import { portOf } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { type Bencoded, decodeBencode } from '../domain/bencode.ts';
import { type FetchNetwork, openSource } from '../fetch/source.ts';
import type { ExternalTool, ToolSource } from './external-tool.ts';

/** Torrent files and metalinks are small. */
const MAX_DESCRIPTION_BYTES = 10 * 1024 * 1024;
const MAX_ADDRESSES = 500;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** Parameters of a magnet link that make a tool open a connection. */
const MAGNET_ADDRESSES = ['tr', 'ws', 'xs', 'as'];
/** Trackers are spoken to over these; web seeds and mirrors over the last two. */
const TRACKER_SCHEMES = new Set(['udp:', 'http:', 'https:']);

/**
 * What a tool gets to see of an address: the tool will open connections of its own, so everything that names one is looked at first. Torrent
 * files and metalinks are fetched here, over guarded connections, and handed over as they are.
 *
 * @throws AppError PERMISSION_DENIED (it names an address that is not allowed) | UNSUPPORTED_OPERATION (not for this tool) | CONTENT_CORRUPT
 */
export async function vetSource(
  context: { readonly policy: EgressPolicy; readonly network: FetchNetwork },
  tool: ExternalTool,
  text: string,
  signal: AbortSignal,
): Promise<ToolSource> {
  const { policy, network } = context;
  if (/^magnet:/i.test(text)) {
    if (!tool.kinds.has('magnet')) throw unsupported(tool, 'magnet links');
    return vetMagnet(policy, text);
  }
  const url = policy.parseUrl(text);
  await policy.resolve(url.hostname, portOf(url));
  const isTorrent = /\.torrent$/i.test(url.pathname) || !tool.kinds.has('url');
  if (isTorrent) {
    if (!tool.kinds.has('torrent')) throw unsupported(tool, 'torrent files');
    const content = await fetchDescription(network, url, signal);
    return { kind: 'torrent', content, hash: await vetTorrent(policy, content) };
  }
  if (/\.(?:metalink|meta4)$/i.test(url.pathname)) {
    if (!tool.kinds.has('metalink')) throw unsupported(tool, 'metalinks');
    const content = await fetchDescription(network, url, signal);
    await vetMetalink(policy, content.toString('utf8'));
    return { kind: 'metalink', content };
  }
  return { kind: 'url', url: url.href };
}

/** What can be said of an address of a tool before it is queued. @throws AppError as vetSource() */
export function checkToolUrl(policy: EgressPolicy, text: string): void {
  if (!/^magnet:/i.test(text)) policy.parseUrl(text);
  else magnetHash(text);
}

async function vetMagnet(policy: EgressPolicy, text: string): Promise<ToolSource> {
  const hash = magnetHash(text);
  const parameters = new URLSearchParams(text.slice(text.indexOf('?') + 1));
  for (const [name, value] of parameters) {
    // `tr.1` is another way to say `tr`.
    const plain = name.toLowerCase().replace(/\.\d+$/, '');
    if (MAGNET_ADDRESSES.includes(plain) && !/^urn:/i.test(value)) await vetAddress(policy, value, plain === 'tr');
    // Peers by address would be connected to at once.
    if (plain === 'x.pe') throw refused();
  }
  return { kind: 'magnet', url: text, hash };
}

/** The v1 hash in hexadecimal, or the first forty digits of the v2 one, as tools identify torrents. @throws AppError INVALID_ARGUMENT */
function magnetHash(text: string): string {
  const topics = new URLSearchParams(text.slice(text.indexOf('?') + 1)).getAll('xt');
  for (const topic of topics) {
    const v1 = /^urn:btih:([0-9a-f]{40}|[a-z2-7]{32})$/i.exec(topic)?.[1]?.toLowerCase();
    if (v1) return v1.length === 40 ? v1 : fromBase32(v1);
  }
  const v2 = topics.map((topic) => /^urn:btmh:1220([0-9a-f]{64})$/i.exec(topic)?.[1]?.toLowerCase()).find((hash) => hash !== undefined);
  if (!v2) throw new AppError('INVALID_ARGUMENT', 'the magnet link names no torrent');
  return v2.slice(0, 40);
}

function fromBase32(text: string): string {
  let bits = '';
  for (const character of text) bits += BASE32.indexOf(character).toString(2).padStart(5, '0');
  return (bits.match(/.{4}/g) ?? []).map((four) => Number.parseInt(four, 2).toString(16)).join('');
}

/** Looks at every address in a torrent file. @returns its hash */
async function vetTorrent(policy: EgressPolicy, content: Buffer): Promise<string> {
  const { value, info } = readTorrent(content);
  const addresses = [
    ...textsIn(value.get('announce')).map((address) => ({ address, isTracker: true })),
    ...textsIn(value.get('announce-list')).map((address) => ({ address, isTracker: true })),
    ...textsIn(value.get('url-list')).map((address) => ({ address, isTracker: false })),
    ...textsIn(value.get('httpseeds')).map((address) => ({ address, isTracker: false })),
  ];
  // Nodes of the DHT to begin with: host and port, connected to as they stand.
  const nodes = value.get('nodes');
  if (Array.isArray(nodes) && nodes.length > 0) throw refused();
  if (addresses.length > MAX_ADDRESSES) throw new AppError('CONTENT_CORRUPT', 'the torrent file names too many addresses');
  for (const { address, isTracker } of addresses) if (address.trim() !== '') await vetAddress(policy, address, isTracker);
  return info;
}

function readTorrent(content: Buffer): { value: ReadonlyMap<string, Bencoded>; info: string } {
  try {
    const { value, info } = decodeBencode(content);
    if (!(value instanceof Map) || !info) throw new Error('no torrent');
    const infoMap = value.get('info');
    const isV1 = infoMap instanceof Map && infoMap.has('pieces');
    const hash = createHash(isV1 ? 'sha1' : 'sha256')
      .update(info)
      .digest('hex')
      .slice(0, 40);
    return { value, info: hash };
  } catch (cause) {
    throw new AppError('CONTENT_CORRUPT', 'this is not a torrent file', { cause });
  }
}

function textsIn(value: Bencoded | undefined): string[] {
  if (Buffer.isBuffer(value)) return [value.toString('utf8')];
  return Array.isArray(value) ? value.flatMap(textsIn) : [];
}

async function vetMetalink(policy: EgressPolicy, text: string): Promise<void> {
  const urls = metalinkUrls(text);
  if (urls.length === 0 || urls.length > MAX_ADDRESSES) throw unusableMetalink();
  for (const url of urls) await vetAddress(policy, url, false);
}

const URL_TAG = /<(?:[\w.-]+:)?url\b/iy;

/** The addresses in a metalink, in time linear in its length. @throws AppError CONTENT_CORRUPT for what a tool may read otherwise than we do */
function metalinkUrls(text: string): string[] {
  const plain = withoutComments(text);
  // Entities and other documents could name addresses that are not seen here.
  if (!/<metalink\b/i.test(plain) || /<!|<\?xml-stylesheet|<metaurl\b/i.test(plain)) throw unusableMetalink();
  const urls: string[] = [];
  for (let open = plain.indexOf('<'); open !== -1; ) {
    const end = plain.indexOf('>', open);
    const next = plain.indexOf('<', open + 1);
    // Tags begin and end in turn.
    if (end === -1 || (next !== -1 && next < end)) throw unusableMetalink();
    URL_TAG.lastIndex = open;
    if (URL_TAG.test(plain) && plain[end - 1] !== '/') {
      // An address in several pieces would be put together by its reader.
      if (next === -1 || plain[next + 1] !== '/') throw unusableMetalink();
      urls.push(decodeXml(plain.slice(end + 1, next).trim()));
    }
    open = next;
  }
  return urls;
}

function withoutComments(text: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let open = text.indexOf('<!--'); open !== -1; open = text.indexOf('<!--', at)) {
    const end = text.indexOf('-->', open + 4);
    if (end === -1) throw unusableMetalink();
    kept.push(text.slice(at, open));
    at = end + 3;
  }
  return kept.join('') + text.slice(at);
}

function unusableMetalink(): AppError {
  return new AppError('CONTENT_CORRUPT', 'this is not a metalink that can be used');
}

const XML_ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeXml(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex: string, decimal: string, name: string) => {
    if (name !== undefined) return XML_ENTITIES[name] ?? whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}

async function vetAddress(policy: EgressPolicy, text: string, isTracker: boolean): Promise<void> {
  const parsed = URL.parse(text.trim());
  if (!parsed || (isTracker && !TRACKER_SCHEMES.has(parsed.protocol))) throw refused();
  // Hosts are read alike under every scheme only as HTTP does it.
  const url = policy.parseUrl(isTracker ? text.trim().replace(/^udp:/i, 'http:') : text);
  try {
    await policy.resolve(url.hostname, portOf(url));
  } catch (error) {
    // A tracker that is gone is no danger.
    if (AppError.is(error, 'PERMISSION_DENIED')) throw error;
  }
}

async function fetchDescription(network: FetchNetwork, url: URL, signal: AbortSignal): Promise<Buffer> {
  const { response } = await openSource(network, url, false, signal);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > MAX_DESCRIPTION_BYTES) throw new AppError('CONTENT_CORRUPT', 'this is too big for a torrent file or a metalink');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function refused(): AppError {
  return new AppError('PERMISSION_DENIED', 'it names an address that is not allowed');
}

function unsupported(tool: ExternalTool, what: string): AppError {
  return new AppError('UNSUPPORTED_OPERATION', `${tool.name} does not take ${what}`);
}
