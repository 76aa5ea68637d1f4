import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSigner, type SignedRequest, UNSIGNED_PAYLOAD } from './signer.ts';

/** Keys, time, requests and signatures of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html and sigv4-query-string-auth.html */
const KEYS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
  region: 'us-east-1',
};
const HOST = 'https://examplebucket.s3.amazonaws.com';
const signer = createSigner(KEYS, () => Date.UTC(2013, 4, 24));
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const requests: [what: string, request: SignedRequest, names: string, signature: string][] = [
  [
    'a range of an object',
    { method: 'GET', url: new URL('/test.txt', HOST), headers: { Range: 'bytes=0-9' }, payloadSha256: sha256('') },
    'host;range;x-amz-content-sha256;x-amz-date',
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'a new object',
    {
      method: 'PUT',
      url: new URL('/test%24file.text', HOST),
      headers: { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      payloadSha256: sha256('Welcome to Amazon S3.'),
    },
    'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a question without a value',
    { method: 'GET', url: new URL('/', HOST), query: { lifecycle: '' }, payloadSha256: sha256('') },
    'host;x-amz-content-sha256;x-amz-date',
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a listing, whatever the order of its parameters',
    { method: 'GET', url: new URL('/', HOST), query: { prefix: 'J', 'max-keys': '2' }, payloadSha256: sha256('') },
    'host;x-amz-content-sha256;x-amz-date',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
];

describe('signatures are those that Amazon publishes', () => {
  it.each(requests)('for %s', (_, request, names, signature) => {
    const { Authorization, ...headers } = signer.headers(request);
    const credential = 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request';
    expect(Authorization).toBe(`AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`);
    expect(headers).toEqual({
      ...request.headers,
      'x-amz-date': '20130524T000000Z',
      'x-amz-content-sha256': request.payloadSha256,
    });
  });

  it('for an address', () => {
    const { href } = signer.address({ method: 'GET', url: new URL('/test.txt', HOST) }, 86_400);
    const { origin, pathname, searchParams } = new URL(href);
    expect(`${origin}${pathname}`).toBe(`${HOST}/test.txt`);
    expect(Object.fromEntries(searchParams)).toEqual({
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request',
      'X-Amz-Date': '20130524T000000Z',
      'X-Amz-Expires': '86400',
      'X-Amz-SignedHeaders': 'host',
      'X-Amz-Signature': 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    });
  });
});

it('a temporary key is signed along', () => {
  const temporary = createSigner({ ...KEYS, sessionToken: 'a token' });
  const headers = temporary.headers({ method: 'GET', url: new URL(HOST), payloadSha256: UNSIGNED_PAYLOAD });
  expect(headers['x-amz-security-token']).toBe('a token');
  expect(headers['Authorization']).toContain('SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,');
  const { searchParams } = temporary.address({ method: 'GET', url: new URL(HOST) }, 60);
  expect(searchParams.get('X-Amz-Security-Token')).toBe('a token');
});

it('each day has a key of its own', () => {
  let now = Date.UTC(2013, 4, 24);
  const clocked = createSigner(KEYS, () => now);
  const [, [, request, , signature] = expect.fail('no request')] = requests;
  now += 86_400_000;
  expect(clocked.headers(request)['Authorization']).not.toContain(signature);
  now -= 86_400_000;
  expect(clocked.headers(request)['Authorization']).toContain(signature);
});
