import { createHash, randomBytes } from 'node:crypto';
import type { WebdavSettings } from './config.ts';

/** What a server asks for in `WWW-Authenticate` (RFC 9110, section 11.6.1). */
interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  readonly params: Readonly<Record<string, string>>;
}

/** A login by Digest (RFC 7616), as the server asked for it. */
interface Digest {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  /** As the server wrote it; undefined: it wrote none, which is MD5. */
  readonly algorithm: string | undefined;
  readonly hash: 'md5' | 'sha256';
  readonly isSession: boolean;
  readonly hasQop: boolean;
}

const HASHES: Readonly<Record<string, 'md5' | 'sha256'>> = { MD5: 'md5', 'SHA-256': 'sha256' };

/**
 * How requests say who we are. Nothing is sent before the server has asked, so that a password goes out as Digest wherever it may, and never as Basic
 * once it went as Digest.
 */
export class Login {
  readonly #account: Pick<WebdavSettings, 'username' | 'password'>;
  #way: 'none' | 'basic' | Digest = 'none';
  #uses = 0;

  constructor(account: Pick<WebdavSettings, 'username' | 'password'>) {
    this.#account = account;
  }

  /** Whether the server has asked for it. */
  get isAsked(): boolean {
    return this.#way !== 'none';
  }

  /** @param target path and query of the request */
  header(method: string, target: string, newNonce = () => randomBytes(16).toString('hex')): string | undefined {
    const { username, password } = this.#account;
    if (this.#way === 'none') return undefined;
    if (this.#way === 'basic') return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    this.#uses += 1;
    return digestHeader(this.#way, { ...this.#account, method, target, uses: this.#uses, clientNonce: newNonce() });
  }

  /**
   * Goes by what a server asks for that has just refused a request.
   *
   * @returns whether to ask again: not where it was asked in this way already
   */
  learn(challenges: string | undefined): boolean {
    const asked = parseChallenges(challenges ?? '');
    const known = this.#way;
    const digests = asked.flatMap(({ scheme, params }) => (scheme === 'digest' ? (digestOf(params) ?? []) : []));
    const digest = digests.find(({ hash }) => hash === 'sha256') ?? digests[0];
    if (digest !== undefined) {
      this.#way = digest;
      this.#uses = 0;
      // Another nonce is another try: the old one may just have been too old.
      return typeof known === 'string' || known.nonce !== digest.nonce;
    }
    if (known !== 'none' || !asked.some(({ scheme }) => scheme === 'basic')) return false;
    this.#way = 'basic';
    return true;
  }
}

function parseChallenges(text: string): Challenge[] {
  const found: { scheme: string; params: Record<string, string> }[] = [];
  for (const [, word = '', value] of text.slice(0, 8192).matchAll(/([A-Za-z][\w-]*)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+))?/g)) {
    const params = found.at(-1)?.params;
    if (value === undefined) found.push({ scheme: word.toLowerCase(), params: {} });
    else if (params) params[word.toLowerCase()] = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  }
  return found;
}

/** Undefined for one that we do not know. */
function digestOf({ realm, nonce, opaque, algorithm, qop }: Readonly<Record<string, string>>): Digest | undefined {
  const [, name = '', session] = /^(.*?)(-sess)?$/i.exec((algorithm ?? 'MD5').toUpperCase()) ?? [];
  const hash = Object.hasOwn(HASHES, name) ? HASHES[name] : undefined;
  const kinds = qop?.split(',').map((kind) => kind.trim().toLowerCase());
  if (hash === undefined || nonce === undefined || realm === undefined || (kinds && !kinds.includes('auth'))) return undefined;
  return { realm, nonce, opaque, algorithm, hash, isSession: session !== undefined, hasQop: kinds !== undefined };
}

interface DigestedRequest {
  readonly username: string;
  readonly password: string;
  readonly method: string;
  readonly target: string;
  readonly uses: number;
  readonly clientNonce: string;
}

function digestHeader(digest: Digest, { username, password, method, target, uses, clientNonce }: DigestedRequest): string {
  const { realm, nonce, opaque, algorithm, hash, isSession, hasQop } = digest;
  const of = (...parts: readonly string[]) => createHash(hash).update(parts.join(':')).digest('hex');
  const count = uses.toString(16).padStart(8, '0');
  const account = of(username, realm, password);
  const secret = isSession ? of(account, nonce, clientNonce) : account;
  const response = hasQop ? of(secret, nonce, count, clientNonce, 'auth', of(method, target)) : of(secret, nonce, of(method, target));
  const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`;
  return [
    `Digest username=${quoted(username)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(target)}`,
    `response="${response}"`,
    ...(algorithm === undefined ? [] : [`algorithm=${algorithm}`]),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(hasQop || isSession ? [`qop=auth, nc=${count}, cnonce="${clientNonce}"`] : []),
  ].join(', ');
}
