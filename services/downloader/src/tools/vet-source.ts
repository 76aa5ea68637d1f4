import type { EgressPolicy } from '@wharf/egress';
import { portOf } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { isMagnet, magnetHash } from '../domain/magnet.ts';
import { metalinkUrls, unusableMetalink } from '../domain/metalink.ts';
import { readTorrent } from '../domain/torrent.ts';
import { type FetchNetwork, openSource } from '../fetch/source.ts';
import type { ExternalTool, ToolSource } from './external-tool.ts';

/** Torrent files and metalinks are small. */
const MAX_DESCRIPTION_BYTES = 10 * 1024 * 1024;
const MAX_ADDRESSES = 500;
/** Parameters of a magnet link that make a tool open a connection. */
const MAGNET_ADDRESSES = ['tr', 'ws', 'xs', 'as'];
/** Trackers are spoken to over these; web seeds and mirrors over the last two. */
const TRACKER_SCHEMES = new Set(['udp:', 'http:', 'https:']);

/**
 * Turns an address into what a tool may be given. The tool opens connections of its own, so every address that it will read is checked
 * first. Torrent files and metalinks are fetched here, over guarded connections, and handed over unchanged.
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
  if (isMagnet(text)) {
    if (!tool.kinds.has('magnet')) throw unsupported(tool, 'magnet links');
    return vetMagnet(policy, text);
  }
  const url = policy.parseUrl(text);
  await policy.resolve(url.hostname, portOf(url));
  const isTorrent = /\.torrent$/i.test(url.pathname) || !tool.kinds.has('url');
  if (isTorrent) {
    if (!tool.kinds.has('torrent')) throw unsupported(tool, 'torrent files');
    const content = await fetchDescription(network, url, signal);
    return { kind: 'torrent', content, hash: await vetTorrent(policy, content, signal) };
  }
  if (/\.(?:metalink|meta4)$/i.test(url.pathname)) {
    if (!tool.kinds.has('metalink')) throw unsupported(tool, 'metalinks');
    const content = await fetchDescription(network, url, signal);
    await vetMetalink(policy, content.toString('utf8'), signal);
    return { kind: 'metalink', content };
  }
  return { kind: 'url', url: url.href };
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

/** Looks at every address in a torrent file. @returns its hash */
async function vetTorrent(policy: EgressPolicy, content: Buffer, signal: AbortSignal): Promise<string> {
  const { hash, addresses, hasNodes } = await readTorrent(content, MAX_ADDRESSES, createPace(signal));
  if (hasNodes) throw refused();
  for (const { address, isTracker } of addresses) if (address.trim() !== '') await vetAddress(policy, address, isTracker);
  return hash;
}

async function vetMetalink(policy: EgressPolicy, text: string, signal: AbortSignal): Promise<void> {
  const urls = await metalinkUrls(text, MAX_ADDRESSES, createPace(signal));
  if (urls.length === 0) throw unusableMetalink();
  for (const url of urls) await vetAddress(policy, url, false);
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
