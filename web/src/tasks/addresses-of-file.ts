/** Addresses to download, out of a torrent or a metalink file. Empty: it is neither. */
export async function addressesOfFile(file: File): Promise<readonly string[]> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  // "d", then the first key of a torrent.
  if (bytes[0] === 0x64)
    return await magnetOf(bytes).then(
      (magnet) => [magnet],
      () => [],
    );
  return addressesOfMetalink(new TextDecoder().decode(bytes));
}

/** The first address of each file of a metalink (RFC 5854, and version 3 before it). */
function addressesOfMetalink(text: string): readonly string[] {
  return elementsOf(text, 'file').flatMap(({ content }) => {
    const urls = elementsOf(content, 'url').map(({ attributes, content: address }) => ({
      address: decodeEntities(address.trim()),
      rank: Number(/\bpriority="(\d+)"/.exec(attributes)?.[1] ?? 1_000_000 - Number(/\bpreference="(\d+)"/.exec(attributes)?.[1] ?? 0)),
    }));
    const usable = urls.filter(({ address }) => /^(https?|ftp):/i.test(address)).toSorted((left, right) => left.rank - right.rank);
    return usable.slice(0, 1).map(({ address }) => address);
  });
}

/** Elements of one name that hold none of it. Looked for one after the other, so that many without an end cost no more than their length. */
function elementsOf(text: string, name: string): { attributes: string; content: string }[] {
  const elements: { attributes: string; content: string }[] = [];
  for (let at = 0; ; ) {
    const begin = text.indexOf(`<${name}`, at);
    const opened = text.indexOf('>', begin);
    if (begin < 0 || opened < 0) return elements;
    const attributes = text.slice(begin + name.length + 1, opened);
    at = opened;
    // Another name that begins alike.
    if (/^\w/.test(attributes)) continue;
    at = text.indexOf(`</${name}>`, opened);
    if (at < 0) return elements;
    elements.push({ attributes, content: text.slice(opened + 1, at) });
  }
}

function decodeEntities(text: string): string {
  const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return named[name] ?? whole;
    return String.fromCodePoint(Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16));
  });
}

/** The magnet link of a torrent: the hash of its part `info`, its name and its trackers (https://www.bittorrent.org/beps/bep_0009.html). @throws RangeError: it is none */
async function magnetOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const spans = new Map<string, { from: number; to: number }>();
  readDictionary(bytes, 0, (key, from, to) => spans.set(key, { from, to }));
  const info = spans.get('info');
  if (!info) throw new RangeError('no torrent');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', bytes.slice(info.from, info.to)));
  const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const trackers = ['announce', 'announce-list'].flatMap((key) => {
    const span = spans.get(key);
    return span ? textsIn(bytes, span.from) : [];
  });
  const named = new Map<string, string[]>();
  readDictionary(bytes, info.from, (key, from) => named.set(key, textsIn(bytes, from)));
  const query = new URLSearchParams();
  const [name] = named.get('name') ?? [];
  if (name) query.set('dn', name);
  for (const tracker of new Set(trackers)) query.append('tr', tracker);
  return `magnet:?xt=urn:btih:${hash}${query.size > 0 ? `&${query}` : ''}`;
}

/** Reads one value of bencoding (https://www.bittorrent.org/beps/bep_0003.html). @returns where it ends @throws RangeError: it is none */
function skip(bytes: Uint8Array, at: number): number {
  const kind = bytes[at];
  if (kind === 0x69) return indexOf(bytes, 0x65, at) + 1;
  if (kind === 0x64) return readDictionary(bytes, at, () => undefined);
  if (kind === 0x6c) {
    let next = at + 1;
    while (bytes[next] !== 0x65) next = skip(bytes, next);
    return next + 1;
  }
  return textAt(bytes, at).to;
}

function readDictionary(bytes: Uint8Array, at: number, tell: (key: string, from: number, to: number) => void): number {
  if (bytes[at] !== 0x64) throw new RangeError('no dictionary');
  let next = at + 1;
  while (bytes[next] !== 0x65) {
    const key = textAt(bytes, next);
    const to = skip(bytes, key.to);
    tell(key.text, key.to, to);
    next = to;
  }
  return next + 1;
}

function textAt(bytes: Uint8Array, at: number): { text: string; to: number } {
  const colon = indexOf(bytes, 0x3a, at);
  const length = Number(new TextDecoder().decode(bytes.subarray(at, colon)));
  const to = colon + 1 + length;
  if (!Number.isSafeInteger(length) || length < 0 || to > bytes.length) throw new RangeError('no text');
  return { text: new TextDecoder().decode(bytes.subarray(colon + 1, Math.min(to, colon + 1 + 4_096))), to };
}

/** The texts of a value: itself, or those of its lists. */
function textsIn(bytes: Uint8Array, at: number): string[] {
  const texts: string[] = [];
  /** Each byte is read once, however deep the lists lie in each other. @returns where the value ends */
  const read = (from: number): number => {
    const kind = bytes[from];
    if (kind === 0x69 || kind === 0x64) return skip(bytes, from);
    if (kind !== 0x6c) {
      const { text, to } = textAt(bytes, from);
      texts.push(text);
      return to;
    }
    let next = from + 1;
    while (bytes[next] !== 0x65) next = read(next);
    return next + 1;
  };
  read(at);
  return texts;
}

function indexOf(bytes: Uint8Array, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from);
  if (found < 0) throw new RangeError('it ends too early');
  return found;
}
