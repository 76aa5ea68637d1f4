import { httpRequest } from '@wharf/harness';
import { expect } from 'vitest';

interface Upload {
  /** Of a data plane. */
  readonly url: string;
  readonly login: string;
  /** In the tree. */
  readonly path: string;
  readonly content: Buffer;
}

/** Uploads by the family's calls, the last part first. @returns the parts' size, as the server says it */
export async function uploadInParts({ url, login, path, content }: Upload): Promise<number> {
  const call = async (method: string, name: string, headers: Record<string, string>, body: Buffer | '' = '') => {
    const asked = { method, path: `/api/fs/multipart/${name}`, headers: { Authorization: login, ...headers }, body };
    const answer = (await httpRequest(url, asked)).json() as { code: number; data: { upload_id: string; chunk_size: number } };
    expect(answer).toMatchObject({ code: 200 });
    return answer.data;
  };
  const wanted = { 'X-File-Size': `${content.byteLength}`, 'X-Chunk-Size': '1' };
  const { upload_id, chunk_size } = await call('POST', 'init', { 'File-Path': encodeURIComponent(path), ...wanted });
  const id = { 'X-Upload-Id': upload_id };
  for (let index = Math.ceil(content.byteLength / chunk_size) - 1; index >= 0; index -= 1)
    await call('PUT', 'chunk', { ...id, 'X-Chunk-Index': `${index}` }, content.subarray(index * chunk_size, (index + 1) * chunk_size));
  await call('POST', 'complete', id);
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
