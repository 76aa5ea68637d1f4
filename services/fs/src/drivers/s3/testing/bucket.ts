import { Agent } from 'node:http';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { createEgress, createEgressPolicy, type Egress } from '@wharf/egress';
import type { CephRgw } from '@wharf/harness';
import { S3Client as LeanClient, payloadOf } from '../client.ts';
import { s3ConfigSchema, s3Settings } from '../config.ts';
import { s3Driver } from '../index.ts';

/** Where tests go: loopback, by whatever name. */
export function testEgress(): Egress {
  const policy = createEgressPolicy({
    allow: ['127.0.0.0/8'],
    forbidden: [],
    audience: 'admin',
    resolve: async () => ['127.0.0.1'],
  });
  return createEgress(policy);
}

/** A bucket of a real server, seen past the driver. */
export interface Bucket {
  readonly sdk: S3Client;
  readonly name: string;
  /** Ends the connections of the other client. */
  rest(): void;
  /** What a storage of it is configured by. */
  addition(items?: Record<string, unknown>): string;
  /** Keys with a prefix, without it. */
  keys(prefix: string): Promise<string[]>;
  put(key: string, body?: string | Uint8Array): Promise<void>;
  /** Makes many empty objects. */
  putMany(keys: readonly string[]): Promise<void>;
  text(key: string): Promise<string>;
  /** Keys of uploads in parts that have not ended. */
  uploads(prefix: string): Promise<string[]>;
}

export async function makeBucket(server: CephRgw, name: string): Promise<Bucket> {
  const httpAgent = new Agent({ keepAlive: true, maxSockets: 16 });
  const sdk = new S3Client({
    endpoint: server.url,
    region: server.region,
    credentials: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
    forcePathStyle: true,
    requestHandler: { httpAgent },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  await sdk.send(new CreateBucketCommand({ Bucket: name }));
  const addition = (items = {}) =>
    JSON.stringify({
      root_folder_path: '/',
      bucket: name,
      endpoint: server.url,
      region: server.region,
      access_key_id: server.accessKeyId,
      secret_access_key: server.secretAccessKey,
      force_path_style: true,
      ...items,
    });
  return {
    sdk,
    name,
    rest: () => httpAgent.destroy(),
    addition,
    // A call of the maker's client takes several times the processor time of one of ours.
    async putMany(keys) {
      const client = new LeanClient(s3Settings(s3ConfigSchema.parse(JSON.parse(s3Driver.normaliseAddition(addition())))), testEgress());
      const left = keys.values();
      const empty = payloadOf('', false);
      const putSome = async () => {
        for (const key of left) await client.put(key, empty, { contentType: 'application/octet-stream' }, {}, {});
      };
      await Promise.all(Array.from({ length: 16 }, putSome)).finally(() => client.close());
    },
    async keys(prefix) {
      const { Contents = [] } = await sdk.send(new ListObjectsV2Command({ Bucket: name, Prefix: prefix }));
      return Contents.map(({ Key = '' }) => Key.slice(prefix.length));
    },
    async put(key, body = '') {
      await sdk.send(new PutObjectCommand({ Bucket: name, Key: key, Body: body, ContentLength: Buffer.byteLength(body) }));
    },
    async text(key) {
      const { Body } = await sdk.send(new GetObjectCommand({ Bucket: name, Key: key }));
      return (await Body?.transformToString()) ?? '';
    },
    async uploads(prefix) {
      const { Uploads = [] } = await sdk.send(new ListMultipartUploadsCommand({ Bucket: name, Prefix: prefix }));
      return Uploads.map(({ Key = '' }) => Key);
    },
  };
}
