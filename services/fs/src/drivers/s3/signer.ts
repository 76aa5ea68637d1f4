import aws4 from 'aws4';
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

/** @param clock milliseconds since 1970 */
export function createSigner({ accessKeyId, secretAccessKey, sessionToken, region }: SigningKeys, clock: () => number = Date.now): Signer {
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  const token = sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken };
  /** 20130524T000000Z */
  const now = () => new Date(clock()).toISOString().replace(/[-:]|\.\d+/g, '');
  const sign = ({ method, url }: Pick<SignedRequest, 'method' | 'url'>, query: Record<string, string>, rest: object) => {
    const text = queryText(query);
    const path = text === '' ? url.pathname : `${url.pathname}?${text}`;
    return aws4.sign({ service: 's3', region, method, host: url.host, path, ...rest }, keys);
  };
  return {
    headers(request) {
      const headers = { ...request.headers, 'x-amz-content-sha256': request.payloadSha256, 'x-amz-date': now(), ...token };
      // By itself the library leaves a range unsigned.
      const signed = sign(request, { ...request.query }, { headers, extraHeadersToInclude: { range: true } });
      return { ...headers, Authorization: String(signed.headers?.['Authorization']) };
    },
    address({ method, url, query }, expirySeconds) {
      const timed = { ...query, 'X-Amz-Date': now(), 'X-Amz-Expires': String(expirySeconds) };
      return new URL(sign({ method, url }, timed, { signQuery: true }).path ?? '', url);
    },
  };
}

/** A query as it is sent. */
export function queryText(query: Readonly<Record<string, string>> = {}): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)
    .join('&');
}
