import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import type { S3Settings } from './config.ts';
import { encodeText } from './object-url.ts';

/** What signatures are made with, and for. */
export type SigningKeys = Pick<S3Settings, 'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'region'>;

/** A request as it is signed. */
export interface SignedRequest {
  readonly method: string;
  /** Its path is sent as it is here; what it has of a query is left out. */
  readonly url: URL;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Those that the store holds the request to, besides the host and the time. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In hexadecimal digits, or `UNSIGNED-PAYLOAD`. */
  readonly payloadSha256: string;
}

/**
 * Signatures of version 4, for the service S3: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html. They are
 * made at once, with the key of the day kept.
 */
export interface Signer {
  /** The headers of a request, signed. */
  headers(request: SignedRequest): Record<string, string>;
  /** An address by which anybody may send the request for a while. @param expirySeconds at most a week */
  address(request: Pick<SignedRequest, 'method' | 'url' | 'query'>, expirySeconds: number): URL;
}

export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';
const ALGORITHM = 'AWS4-HMAC-SHA256';

/** @param clock milliseconds since 1970 */
export function createSigner({ accessKeyId, secretAccessKey, sessionToken, region }: SigningKeys, clock: () => number = Date.now): Signer {
  let kept: { readonly day: string; readonly key: KeyObject } | undefined;
  const keyOf = (day: string): KeyObject => {
    if (kept?.day === day) return kept.key;
    const steps = [day, region, 's3', 'aws4_request'];
    const key = steps.reduce<string | Buffer>((above, step) => createHmac('sha256', above).update(step).digest(), `AWS4${secretAccessKey}`);
    kept = { day, key: createSecretKey(Buffer.from(key)) };
    return kept.key;
  };
  /** What the signature of a moment is for: 20130524T000000Z, and the scope of its key. */
  const momentNow = () => {
    const time = new Date(clock()).toISOString().replace(/[-:]|\.\d+/g, '');
    return { time, scope: `${time.slice(0, 8)}/${region}/s3/aws4_request` };
  };
  const signatureOf = ({ time, scope }: { time: string; scope: string }, canonicalRequest: string): string =>
    createHmac('sha256', keyOf(time.slice(0, 8)))
      .update(`${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', canonicalRequest)}`)
      .digest('hex');
  return {
    headers({ method, url, query, headers: given, payloadSha256 }) {
      const moment = momentNow();
      const headers = {
        ...{ ...given, 'x-amz-content-sha256': payloadSha256, 'x-amz-date': moment.time },
        ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
      };
      const signed = Object.entries({ ...headers, host: url.host })
        .map(([name, value]): [string, string] => [name.toLowerCase(), value.trim().replace(/\s+/g, ' ')])
        .sort(([one], [other]) => (one < other ? -1 : 1));
      const names = signed.map(([name]) => name).join(';');
      const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('');
      const signature = signatureOf(moment, [method, pathOf(url), sortedText(query), lines, names, payloadSha256].join('\n'));
      const credential = `${accessKeyId}/${moment.scope}`;
      return { ...headers, Authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}` };
    },
    address({ method, url, query }, expirySeconds) {
      const moment = momentNow();
      const asked = {
        ...query,
        ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
        ...{ 'X-Amz-Date': moment.time, 'X-Amz-Expires': String(expirySeconds), 'X-Amz-Algorithm': ALGORITHM },
        ...{ 'X-Amz-Credential': `${accessKeyId}/${moment.scope}`, 'X-Amz-SignedHeaders': 'host' },
      };
      const text = sortedText(asked);
      const signature = signatureOf(moment, [method, pathOf(url), text, `host:${url.host}\n`, 'host', UNSIGNED_PAYLOAD].join('\n'));
      return new URL(`${url.pathname}?${text}&X-Amz-Signature=${signature}`, url);
    },
  };
}

/** As stores have it who check a signature: every character that may be is encoded. */
function pathOf({ pathname }: URL): string {
  return pathname
    .split('/')
    .map((piece) => encodeText(decodeURIComponent(piece)))
    .join('/');
}

/** A query in the order in which it is signed. */
function sortedText(query: SignedRequest['query']): string {
  return queryText(
    Object.fromEntries(Object.entries(query ?? {}).sort(([one], [other]) => (encodeText(one) < encodeText(other) ? -1 : 1))),
  );
}

/** A query as it is sent. */
export function queryText(query: Readonly<Record<string, string>> = {}): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)
    .join('&');
}
