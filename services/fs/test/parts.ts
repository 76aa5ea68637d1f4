import { type HttpRequest, httpRequest } from '@wharf/harness';
import { expect } from 'vitest';

interface Upload {
  /** Of a data plane. */
  readonly url: string;
  readonly login: string;
  /** In the tree. */
  readonly path: string;
  readonly content: Buffer;
}

/** A call of the family's uploads in parts; what is absent is as in the defaults. */
interface Asked {
  /** A login. */
  readonly as?: string;
  /** A data plane. */
  readonly at?: { readonly url: string };
  readonly headers?: Record<string, string>;
  readonly body?: HttpRequest['body'];
}

/** What is looked at of an answer. */
interface Answer {
  readonly code: number;
  readonly message: string;
  readonly data: { readonly upload_id: string; readonly chunk_size: number };
}

/** The family's uploads in parts, in the smallest parts there are. @param defaults asked for at each call */
export function partCalls(defaults: () => { as: string; at: { readonly url: string }; size: number }) {
  const call = async (method: string, name: string, asked: Asked = {}): Promise<Answer> => {
    const { as, at, headers, body = '' } = { ...defaults(), ...asked };
    const path = `/api/fs/multipart/${name}`;
    return (await httpRequest(at.url, { method, path, headers: { Authorization: as, ...headers }, body })).json() as Answer;
  };
  const init = (path: string, asked: Asked = {}, size = defaults().size) =>
    call('POST', 'init', {
      ...asked,
      headers: { 'File-Path': encodeURIComponent(path), 'X-File-Size': `${size}`, 'X-Chunk-Size': '1', ...asked.headers },
    });
  return {
    call,
    init,
    begin: async (path: string, asked: Asked = {}, size?: number): Promise<string> => (await init(path, asked, size)).data.upload_id,
    chunk: (id: string, index: number | string, body: HttpRequest['body'], asked: Asked = {}) =>
      call('PUT', 'chunk', { ...asked, headers: { 'X-Upload-Id': id, 'X-Chunk-Index': `${index}`, ...asked.headers }, body }),
    end: (name: 'complete' | 'abort', id: string, asked: Asked = {}) =>
      call('POST', name, { ...asked, headers: { 'X-Upload-Id': id, ...asked.headers } }),
  };
}

/** Uploads by the family's calls, the last part first. @returns the parts' size, as the server says it */
export async function uploadInParts({ url, login, path, content }: Upload): Promise<number> {
  const { init, chunk, end } = partCalls(() => ({ as: login, at: { url }, size: content.byteLength }));
  const begun = await init(path);
  expect(begun).toMatchObject({ code: 200 });
  const { upload_id, chunk_size } = begun.data;
  for (let index = Math.ceil(content.byteLength / chunk_size) - 1; index >= 0; index -= 1)
    expect(await chunk(upload_id, index, content.subarray(index * chunk_size, (index + 1) * chunk_size))).toMatchObject({ code: 200 });
  expect(await end('complete', upload_id)).toMatchObject({ code: 200 });
  return chunk_size;
}

/** Uploads by tus in two requests. @param cut where the first one ends */
export async function uploadByTus({ url, login, path, content }: Upload, cut: number): Promise<void> {
  const tus = { Authorization: login, 'Tus-Resumable': '1.0.0' };
  const created = { ...tus, 'File-Path': encodeURIComponent(path), 'Upload-Length': `${content.byteLength}` };
  const { headers: answered } = await httpRequest(url, { method: 'POST', path: '/api/fs/tus', headers: created });
  const address = `/api/fs/${String(answered['location'])}`;
  for (const [from, to] of [
    [0, cut],
    [cut, content.byteLength],
  ] as const) {
    const headers = { ...tus, 'Upload-Offset': `${from}`, 'Content-Type': 'application/offset+octet-stream' };
    const { status } = await httpRequest(url, { method: 'PATCH', path: address, headers, body: content.subarray(from, to) });
    expect(status).toBe(204);
  }
}
