/**
 * Frees the memory of a chunk of a socket that has it for itself, once nobody needs what was in it. A socket hands on chunks of 64 KiB, each in
 * memory of its own; leaving that memory to the garbage collector costs a tenth of what it costs to pass the bytes on.
 */
export function freeChunk({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
