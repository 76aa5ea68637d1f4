import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCephRgw } from './ceph-rgw.ts';
import { httpRequest } from './http.ts';
import { isAvailable, isMissing } from './required.ts';

const server = await startCephRgw();
const MIB = 1024 * 1024;

describe.runIf(isAvailable('ceph-rgw', server))('Ceph RGW', () => {
  if (isMissing(server)) return;
  const clientOf = (config: S3ClientConfig = {}) =>
    new S3Client({
      endpoint: server.url,
      region: server.region,
      credentials: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
      forcePathStyle: true,
      ...config,
    });
  const client = clientOf();
  const Bucket = 'harness';
  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket }));
  });
  afterAll(async () => {
    await server.stop();
    await server.stop();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    await expect(once(socket, 'connect')).rejects.toThrow('ECONNREFUSED');
    client.destroy();
  });

  it('keeps objects and lists them', async () => {
    const Key = 'folder/a b+ü.txt';
    await client.send(new PutObjectCommand({ Bucket, Key, Body: 'content' }));
    const listed = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'folder/' }));
    expect(listed.Contents?.map((object) => [object.Key, object.Size])).toEqual([[Key, 7]]);
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, Range: 'bytes=3-' }));
    expect(await Body?.transformToString()).toBe('tent');
  });

  it('puts the parts of an upload together', async () => {
    const Key = 'parts';
    const parts = [Buffer.alloc(5 * MIB, 'a'), Buffer.from('end')];
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    const Parts = await Promise.all(
      parts.map(async (Body, index) => {
        const PartNumber = index + 1;
        const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
        return { PartNumber, ETag };
      }),
    );
    await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
    const { Body, ETag } = await client.send(new GetObjectCommand({ Bucket, Key }));
    expect(ETag).toMatch(/-2"$/);
    expect(Buffer.concat(parts).equals((await Body?.transformToByteArray()) ?? Buffer.of())).toBe(true);
  });

  it('serves a bucket under a host name of its own', async () => {
    await client.send(new PutObjectCommand({ Bucket, Key: 'by-host', Body: 'here' }));
    const httpAgent = new Agent({ lookup: (_name, _options, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }]) });
    const endpoint = `http://${server.hostSuffix}:${new URL(server.url).port}`;
    const byHost = clientOf({ endpoint, forcePathStyle: false, requestHandler: { httpAgent } });
    const { Body } = await byHost.send(new GetObjectCommand({ Bucket, Key: 'by-host' }));
    expect(await Body?.transformToString()).toBe('here');
    byHost.destroy();
  });

  it('refuses another secret, and nobody', async () => {
    const stranger = clientOf({ credentials: { accessKeyId: server.accessKeyId, secretAccessKey: 'wrong' } });
    await expect(stranger.send(new ListObjectsV2Command({ Bucket }))).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });
    stranger.destroy();
    expect((await httpRequest(server.url, { path: `/${Bucket}` })).status).toBe(403);
  });

  it('says nothing while it is paused, and goes on', async () => {
    await server.pause();
    let answered = false;
    const listing = client.send(new ListObjectsV2Command({ Bucket })).finally(() => {
      answered = true;
    });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    expect(answered).toBe(false);
    await server.resume();
    expect((await listing).KeyCount).toBeGreaterThan(0);
  });
});
