import { type Api, at, httpRequest } from '@wharf/harness';
import { type Answer, authorization, filePath, readEnvelope } from './files.ts';

/** An upload in parts, as its client knows it. */
export interface PartUpload {
  readonly id: string;
  readonly chunkBytes: number;
  readonly total: number;
}

/** @param wishedBytes of a part. @param more headers beside the usual ones, such as hashes. An unfinished upload of the same may be found again. */
export async function beginParts(
  caller: Api,
  base: string,
  path: string,
  sizeBytes: number,
  wishedBytes: number,
  more: Record<string, string> = {},
): Promise<PartUpload> {
  const headers = { ...more, ...filePath(path), 'x-file-size': String(sizeBytes), 'x-chunk-size': String(wishedBytes) };
  const data = dataOf(await partCall(caller, base, 'POST init', headers));
  return { id: String(at(data, 'upload_id')), chunkBytes: Number(at(data, 'chunk_size')), total: Number(at(data, 'total_chunks')) };
}

export function sendPart(caller: Api, base: string, upload: PartUpload, content: Buffer, index: number): Promise<Answer> {
  const { chunkBytes } = upload;
  return sendPartOf(caller, base, upload, index, content.subarray(index * chunkBytes, (index + 1) * chunkBytes));
}

/** @param part the bytes of this part alone */
export function sendPartOf(caller: Api, base: string, { id }: PartUpload, index: number, part: Buffer): Promise<Answer> {
  return partCall(caller, base, 'PUT chunk', { 'x-upload-id': id, 'x-chunk-index': String(index) }, part);
}

/** Indexes of parts that the server has not. */
export async function missingParts(caller: Api, base: string, { id, total }: PartUpload): Promise<number[]> {
  const received = at(dataOf(await partCall(caller, base, `GET status?upload_id=${id}`)), 'received');
  const ranges = Array.isArray(received) ? received.map((range) => [Number(at(range, '0')), Number(at(range, '1'))] as const) : [];
  return Array.from({ length: total }, (_, index) => index).filter((index) => !ranges.some(([from, to]) => from <= index && index <= to));
}

export function completeParts(caller: Api, base: string, { id }: PartUpload): Promise<Answer> {
  return partCall(caller, base, 'POST complete', { 'x-upload-id': id });
}

function dataOf({ code, message, data }: Answer): unknown {
  if (code !== 200) throw new Error(`${code}: ${message}`);
  return data;
}

/** @param what method and name of the route */
async function partCall(caller: Api, base: string, what: string, headers: Record<string, string> = {}, body?: Buffer): Promise<Answer> {
  const [method = '', name = ''] = what.split(' ');
  const path = `/api/fs/multipart/${name}`;
  return readEnvelope(await httpRequest(base, { method, path, headers: { ...authorization(caller), ...headers }, ...(body && { body }) }));
}
