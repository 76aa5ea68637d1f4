import type { EgressPolicy } from '@wharf/egress';
import { portOf } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { createPace, gatherBytes } from '@wharf/pace';
import { isMagnet, magnetHashes } from '../domain/magnet.ts';
import { metalinkUrls, unusableMetalink } from '../domain/metalink.ts';
import { readTorrent, type Torrent } from '../domain/torrent.ts';
import { readBody } from '../fetch/read-body.ts';
import { type FetchNetwork, openSource } from '../fetch/source.ts';
import type { ExternalTool, ToolSource } from './external-tool.ts';

/** Torrent files and metalinks are small. */
const MAX_DESCRIPTION_BYTES = 10 * 1024 * 1024;
const MAX_ADDRESSES = 500;
/** In milliseconds: for fetching one and for all look-ups of names together. */
const LIMIT_MS = 60_000;
/** A source that sends nothing to speak of for so long has stalled, in milliseconds. */
const STALL_MS = 15_000;
/** Parameters of a magnet link that make a tool open a connection. */
const MAGNET_ADDRESSES = new Set(['tr', 'ws', 'xs', 'as']);
/** Trackers are spoken to over these; web seeds and mirrors over the last two. */
const TRACKER_SCHEMES = new Set(['udp:', 'http:', 'https:']);

export interface VetContext {
  readonly policy: EgressPolicy;
  readonly network: FetchNetwork;
  /** Milliseconds for all of it; 60,000 by default. */
  readonly limitMs?: number;
}

/**
 * Turns an address into what a tool may be given. The tool opens connections of its own, so every address that it will read is checked
 * first. Torrent files and metalinks are fetched here, over guarded connections, and handed over unchanged.
 *
 * @throws AppError PERMISSION_DENIED (it names an address that is not allowed) | UNSUPPORTED_OPERATION (not for this tool) | CONTENT_CORRUPT |
 * DEADLINE_EXCEEDED | CANCELLED, or the AppError that is the signal's reason
 */
export async function vetSource(context: VetContext, tool: ExternalTool, text: string, signal: AbortSignal): Promise<ToolSource> {
  const late = new AbortController();
  const tooLate = new AppError('DEADLINE_EXCEEDED', 'what the address names could not be looked at in time');
  const timer = setTimeout(() => late.abort(tooLate), context.limitMs ?? LIMIT_MS);
  const either = AbortSignal.any([signal, late.signal]);
  try {
    return await Promise.race([vet(context, tool, text, either), rejection(either)]);
  } finally {
    clearTimeout(timer);
    // Whatever still goes on is of no use.
    late.abort(tooLate);
  }
}

/** Whether the address may be of a torrent file or a metalink, which is fetched here and handed over as it is. */
export function isOfDescription(tool: ExternalTool, text: string): boolean {
  const url = isMagnet(text) ? null : URL.parse(text);
  return url !== null && descriptionAt(url, tool) !== undefined;
}

/** By the name of the address; a tool that takes none but torrent files and magnet links is given a torrent file whatever that is. */
function descriptionAt({ pathname }: URL, { kinds }: ExternalTool): 'torrent' | 'metalink' | undefined {
  if (/\.torrent$/i.test(pathname) || !kinds.has('url')) return 'torrent';
  return /\.(?:metalink|meta4)$/i.test(pathname) ? 'metalink' : undefined;
}

/** Look-ups of names cannot be stopped, so they are not waited for. */
function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'cancelled'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

async function vet({ policy, network }: VetContext, tool: ExternalTool, text: string, signal: AbortSignal): Promise<ToolSource> {
  if (isMagnet(text)) {
    if (!tool.kinds.has('magnet')) throw unsupported(tool, 'magnet links');
    return vetMagnet(policy, text, signal);
  }
  const url = policy.parseUrl(text);
  await policy.resolve(url.hostname, portOf(url));
  const description = descriptionAt(url, tool);
  if (description === 'torrent') {
    if (!tool.kinds.has('torrent')) throw unsupported(tool, 'torrent files');
    const content = await fetchDescription(network, url, signal);
    return { kind: 'torrent', content, ...(await vetTorrent(policy, content, signal)) };
  }
  if (description === 'metalink') {
    if (!tool.kinds.has('metalink')) throw unsupported(tool, 'metalinks');
    const content = await fetchDescription(network, url, signal);
    await vetMetalink(policy, content.toString('utf8'), signal);
    return { kind: 'metalink', content };
  }
  return { kind: 'url', url: url.href };
}

/** Made anew of what is understood here: tools read more names, in more ways, and some take each line for an address. */
async function vetMagnet(policy: EgressPolicy, text: string, signal: AbortSignal): Promise<ToolSource> {
  const said: string[] = [];
  for (const [name, value] of new URLSearchParams(text.slice(text.indexOf('?') + 1))) {
    // Peers by address would be connected to at once.
    if (/^(?:x\.pe|dht)$/i.test(name.trim())) throw refused();
    // `tr.1` is another way to say `tr`.
    const plain = name.toLowerCase().replace(/[^a-z].*$/s, '');
    const kept = MAGNET_ADDRESSES.has(plain) ? await vetted(policy, value, plain === 'tr', signal) : keptParameter(plain, value);
    if (kept !== undefined) said.push(`${plain}=${kept}`);
  }
  const url = `magnet:?${said.join('&')}`;
  return { kind: 'magnet', url, ...magnetHashes(url) };
}

async function vetted(policy: EgressPolicy, value: string, isTracker: boolean, signal: AbortSignal): Promise<string | undefined> {
  if (/^urn:/i.test(value)) return keptParameter('xt', value);
  return encodeURIComponent(await vetAddress(policy, value, isTracker, signal));
}

/** Parameters that name no address, as a tool may be given them: topics, the name that is shown, the size, the files that are wanted. */
function keptParameter(name: string, value: string): string | undefined {
  if (name === 'xt') return /^urn:[a-z0-9]+:[a-z0-9]+$/i.test(value) ? value : undefined;
  if (name === 'dn') return encodeURIComponent(value.replace(/\p{Cc}/gu, ' '));
  if (name === 'xl' || name === 'so') return /^[\d,-]+$/.test(value) ? value : undefined;
  return undefined;
}

/** Looks at every address in a torrent file. @returns its hashes */
async function vetTorrent(policy: EgressPolicy, content: Buffer, signal: AbortSignal): Promise<Pick<Torrent, 'hash' | 'v2Hash'>> {
  const { hash, v2Hash, addresses, hasNodes } = await readTorrent(content, MAX_ADDRESSES, createPace(signal));
  if (hasNodes) throw refused();
  for (const { address, isTracker } of addresses) if (address.trim() !== '') await vetAddress(policy, address, isTracker, signal);
  return { hash, ...(v2Hash === undefined ? {} : { v2Hash }) };
}

async function vetMetalink(policy: EgressPolicy, text: string, signal: AbortSignal): Promise<void> {
  const urls = await metalinkUrls(text, MAX_ADDRESSES, createPace(signal));
  if (urls.length === 0) throw unusableMetalink();
  for (const url of urls) await vetAddress(policy, url, false, signal);
}

/** @returns the address as it was understood */
async function vetAddress(policy: EgressPolicy, text: string, isTracker: boolean, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const address = text.trim();
  const parsed = URL.parse(address);
  // Where a backslash or a line break ends the name of a host, programs do not agree.
  if (!parsed || /[\\\p{Cc}]/u.test(address) || (isTracker && !TRACKER_SCHEMES.has(parsed.protocol))) throw refused();
  // Hosts are read alike under every scheme only as HTTP does it.
  const url = policy.parseUrl(isTracker ? address.replace(/^udp:/i, 'http:') : address);
  try {
    await policy.resolve(url.hostname, portOf(url));
  } catch (error) {
    // A tracker that is gone is no danger.
    if (AppError.is(error, 'PERMISSION_DENIED')) throw error;
  }
  return parsed.protocol === 'udp:' ? `udp://${url.hostname}:${portOf(url)}${url.pathname}${url.search}` : url.href;
}

async function fetchDescription(network: FetchNetwork, url: URL, signal: AbortSignal): Promise<Buffer> {
  const { response, sizeBytes } = await openSource(network, url, false, signal);
  const gathered = gatherBytes(MAX_DESCRIPTION_BYTES);
  let length = 0;
  for await (const chunk of readBody(response, sizeBytes, { signal, stallMs: STALL_MS, limits: [] })) {
    length += chunk.byteLength;
    if (length > MAX_DESCRIPTION_BYTES) throw new AppError('CONTENT_CORRUPT', 'this is too big for a torrent file or a metalink');
    gathered.add(chunk);
  }
  return gathered.whole();
}

function refused(): AppError {
  return new AppError('PERMISSION_DENIED', 'it names an address that is not allowed');
}

function unsupported(tool: ExternalTool, what: string): AppError {
  return new AppError('UNSUPPORTED_OPERATION', `${tool.name} does not take ${what}`);
}
