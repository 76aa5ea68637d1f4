import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { refusalOf } from '../domain/testing/refusal.ts';
import { bodyOf } from './body-of.ts';

it('a body that its client breaks off is a cancelled upload, after what came of it', async () => {
  const request = new IncomingMessage(new Socket());
  const body = bodyOf(request);
  request.push('begun');
  expect((await body.next()).value?.toString()).toBe('begun');
  request.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
  expect(await refusalOf(body.next())).toEqual(['CANCELLED', 'the upload was cancelled']);
});
