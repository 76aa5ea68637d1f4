import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { parseAddress } from '../../driver-contract/address.ts';
import { type Kind, OPTIONS, SECRETS, TYPES } from './allowed.ts';
import type { Provider, ProviderOption } from './providers.ts';

/** A server that options name. */
export interface NamedServer {
  readonly host: string;
  readonly port: number;
}

/** Options of a remote that may be told to rclone. */
export interface Parameters {
  readonly values: Readonly<Record<string, string>>;
  readonly servers: readonly NamedServer[];
}

const MAX_LENGTH = 8 * 1024;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
/** `oauth2.Token` of Go, as `rclone authorize` prints it. */
const tokenSchema = z.object({
  access_token: z.string(),
  token_type: z.string().optional(),
  refresh_token: z.string().optional(),
  expiry: z.string().optional(),
  expires_in: z.number().optional(),
});

const namedSchema = z.record(
  z.string().regex(/^[a-z0-9_]+$/),
  z.string().or(z.number().transform(String)).or(z.boolean().transform(String)),
);

/**
 * Options as an item keeps them: as one JSON object, which the form of the page writes, or as one `name = value` a line, which people write. Empty lines
 * are left out.
 *
 * @throws AppError INVALID_ARGUMENT
 */
export function readNamed(item: string, text: string): [string, string][] {
  if (text.trimStart().startsWith('{')) return readObject(item, text);
  const read: [string, string][] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf('=');
    const [name, value] = [line.slice(0, Math.max(0, at)).trim(), line.slice(at + 1).trim()];
    if (!/^[a-z0-9_]+$/.test(name)) throw invalid(`${item}: each line is name = value`);
    read.push([name, value]);
  }
  return read;
}

function readObject(item: string, text: string): [string, string][] {
  try {
    return Object.entries(namedSchema.parse(JSON.parse(text)));
  } catch {
    throw invalid(`${item} is not an object of names and values, as in {"url": "https://dav.example.org"}`);
  }
}

/** What can be said of options without rclone. @throws AppError INVALID_ARGUMENT, for the admin and without the values */
export function checkParameters(type: string, options: readonly [string, string][], secrets: readonly [string, string][]): Parameters {
  if (!Object.hasOwn(TYPES, type)) throw invalid(`type ${quoted(type)} cannot be used`);
  const values: Record<string, string> = {};
  const servers: NamedServer[] = [];
  for (const [entries, isSecret] of [
    [options, false],
    [secrets, true],
  ] as const) {
    for (const [name, value] of entries) {
      const kind = OPTIONS.get(name);
      if (kind === undefined) throw invalid(`option ${quoted(name)} cannot be used`);
      if (Object.hasOwn(values, name)) throw invalid(`option ${name} is there twice`);
      if (SECRETS.has(name) && !isSecret) throw invalid(`option ${name} is a secret: it belongs into secrets`);
      values[name] = checkValue(name, kind, value, servers);
    }
  }
  return { values, servers };
}

/** What rclone itself says of them: it has the type and the options, and their values are of their type. @throws AppError INVALID_ARGUMENT */
export function checkAgainst(providers: readonly Provider[], type: string, values: Readonly<Record<string, string>>): void {
  const provider = providers.find((one) => one.type === type);
  if (!provider) throw new AppError('FAILED_PRECONDITION', `this rclone does not know the type ${type}`);
  const options = new Map(provider.options().map((option) => [option.name, option]));
  for (const [name, value] of Object.entries(values)) {
    const option = options.get(name);
    if (!option) throw invalid(`${type} has no option ${name}; it has ${offered(provider).join(', ')}`);
    if (!fits(option, value)) throw invalid(`option ${name} is not a ${option.isExclusive ? `value of ${type}` : option.type}`);
  }
}

/** The options of a type that may be given. */
function offered(provider: Provider): readonly string[] {
  return provider
    .options()
    .filter(({ name }) => OPTIONS.has(name))
    .map(({ name }) => name);
}

function fits({ type, choices, isExclusive }: ProviderOption, value: string): boolean {
  switch (type) {
    case 'bool':
    case 'Tristate':
      return /^(true|false|unset)$/.test(value);
    case 'int':
      return /^\d{1,9}$/.test(value);
    default:
      return !isExclusive || choices.some((choice) => choice.value === value);
  }
}

function checkValue(name: string, kind: Kind, value: string, servers: NamedServer[]): string {
  if (value.length > MAX_LENGTH) throw invalid(`option ${name} is too long`);
  if (/\p{Cc}/u.test(value)) throw invalid(`option ${name} has a control character in it`);
  switch (kind) {
    case 'address': {
      servers.push(serverOf(name, value));
      return value;
    }
    case 'host': {
      const { host } = addressOf(name, value, 1);
      if (host !== value.replace(/^\[(.*)\]$/, '$1')) throw invalid(`option ${name} is not a host`);
      return host;
    }
    case 'port':
      if (!/^\d{1,5}$/.test(value) || Number(value) < 1 || Number(value) > 65_535) throw invalid(`option ${name} is not a port`);
      return value;
    case 'word':
      // No path, no address, no connection string, and no flag.
      if (!/^[\p{L}\p{N}_+=@][\p{L}\p{N}_.,+=@ -]*$/u.test(value) || value.includes('..'))
        throw invalid(`option ${name} has a character that is not taken`);
      return value;
    case 'token':
      return checkToken(value);
    default:
      return value;
  }
}

/** Whether an option of a type may be told with a value: what `checkParameters` says of it. */
export function isTaken(name: string, value: string): boolean {
  const kind = OPTIONS.get(name);
  if (kind === undefined) return false;
  try {
    checkValue(name, kind, value, []);
    return true;
  } catch {
    return false;
  }
}

/** The token of an account, with nothing else in it. @throws AppError INVALID_ARGUMENT */
export function checkToken(text: string): string {
  try {
    return JSON.stringify(tokenSchema.parse(JSON.parse(text)));
  } catch {
    throw invalid('oauth_token is not what rclone authorize prints');
  }
}

/** Of `https://host:port/path`, `host:port` or `host`. */
function serverOf(name: string, value: string): NamedServer {
  const url = URL.parse(value.includes('://') ? value : `https://${value}`);
  const isPlain = url !== null && url.hostname !== '' && url.username === '' && url.password === '' && !/[\s\\"'{}|^`<>]/.test(value);
  const port = url === null ? undefined : DEFAULT_PORTS[url.protocol];
  // rclone reads addresses by rules of its own: of what two read differently, neither is right.
  if (!url || !isPlain || port === undefined || !value.toLowerCase().includes(url.hostname))
    throw invalid(`option ${name} is not an address`);
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port === '' ? port : Number(url.port) };
}

function addressOf(name: string, value: string, port: number): NamedServer {
  try {
    return parseAddress(value, port);
  } catch {
    throw invalid(`option ${name} is not a host`);
  }
}

/** What somebody else wrote, short. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', message);
}
