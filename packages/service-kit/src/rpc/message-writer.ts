import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { MessageType } from './service.ts';

/** After a longer message the buffer is not kept, in bytes: those of a shared stream have up to 512 KiB, and some steps. A text has room for three bytes for each of its characters in it, so it may have four times that. */
const MAX_KEPT_BYTES = 640 * 1024;

/** What is shorter is left to the collector, in bytes. */
const MIN_FREED_BYTES = 4 * 1024;

/** Encodes a message that has all its fields. The bytes are the caller's. */
export type MessageWriter = (type: Pick<MessageType, 'encode'>, message: never) => Buffer;

/**
 * Encodes messages in a buffer that is used again: a new one for each message costs more than what is written to it, as it is made larger
 * step by step, and is filled with zeros each time.
 */
export function createMessageWriter(): MessageWriter {
  let writer = new BinaryWriter();
  return (type, message) => {
    const used = writer;
    // Where encoding throws, what was written before stays behind.
    writer = new BinaryWriter();
    const bytes = type.encode(message, used).finish();
    if (bytes.byteLength <= MAX_KEPT_BYTES) writer = used;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

/**
 * Frees the memory of an encoded message, told by it or by a part of it, that nobody reads any more. The collector looks through the whole heap each time that
 * some dozen megabytes of such memory were taken: of long answers that was a third of what their calls cost.
 */
export function freeMessage({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= MIN_FREED_BYTES) buffer.transfer(0);
}
