import { serialize } from 'bson';
import type { CommandError } from './command-error.ts';
import type { Batch } from './cursors.ts';

/** What a handler answers: fields beside `ok: 1`, or a batch of documents that are encoded already. */
export type Reply = { readonly fields: Readonly<Record<string, unknown>> } | { readonly batch: Batch };

const DOCUMENT = 0x03;
const ARRAY = 0x04;

/** The answer as BSON. */
export function encodeReply(reply: Reply): Buffer {
  if ('fields' in reply) return asBuffer(serialize({ ...reply.fields, ok: 1 }));
  const { field, id, namespace, documents } = reply.batch;
  // {cursor: {<field>: [...], id, ns}, ok: 1}, put together from encoded parts: the documents are not decoded for it.
  const rest = asBuffer(serialize({ id, ns: namespace })).subarray(4);
  const cursor = wrap([element(ARRAY, field), ...wrapped(arrayParts(documents)), rest]);
  return wrap([element(DOCUMENT, 'cursor'), cursor, asBuffer(serialize({ ok: 1 })).subarray(4)]);
}

export function encodeError(error: CommandError): Buffer {
  return asBuffer(serialize({ ok: 0, errmsg: error.message, code: error.code, codeName: error.codeName, ...error.fields }));
}

function arrayParts(documents: readonly Buffer[]): Buffer[] {
  return documents.flatMap((document, index) => [element(DOCUMENT, String(index)), document]);
}

function element(type: number, name: string): Buffer {
  return Buffer.concat([Buffer.from([type]), Buffer.from(name), Buffer.from([0])]);
}

/** A document's length, its parts, and its end. */
function wrapped(parts: readonly Buffer[]): Buffer[] {
  const sizeBytes = parts.reduce((sum, part) => sum + part.length, 5);
  return [int32(sizeBytes), ...parts, Buffer.from([0])];
}

/** As {@link wrapped} for parts of which the last brings the end with it. */
function wrap(parts: readonly Buffer[]): Buffer {
  const sizeBytes = parts.reduce((sum, part) => sum + part.length, 4);
  return Buffer.concat([int32(sizeBytes), ...parts]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
