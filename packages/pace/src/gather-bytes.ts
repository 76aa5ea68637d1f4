import { freeChunk } from './free-chunk.ts';

/** Bytes that come in pieces, as one. */
interface GatheredBytes {
  /** @throws what `hold` throws */
  add(piece: Uint8Array): void;
  /** All that came; nothing is to be added afterwards. */
  whole(): Buffer;
}

/**
 * Puts pieces together as they come. A list of the pieces would take some 400 bytes for each of them, and whoever sends them decides how many there are:
 * each chunk of a chunked body is a piece, be it of one byte, and over TLS each record. Each piece may be lent.
 *
 * @param mostBytes that are to come. Room for them is made as they come: who announces much and sends little holds little
 * @param hold is called with the bytes of the room, before it is made
 */
export function gatherBytes(mostBytes: number, hold: (bytes: number) => void = () => {}): GatheredBytes {
  let room = Buffer.alloc(0);
  let length = 0;
  return {
    add(piece) {
      const needed = length + piece.byteLength;
      if (needed > room.byteLength) {
        // The first piece is mostly the only one.
        const size = length === 0 ? needed : Math.max(needed, Math.min(2 * room.byteLength, mostBytes));
        hold(size);
        const larger = Buffer.allocUnsafeSlow(size);
        room.copy(larger, 0, 0, length);
        // Else rooms gather beside the heap: to V8 they are a few bytes.
        freeChunk(room);
        room = larger;
      }
      room.set(piece, length);
      length = needed;
    },
    whole: () => room.subarray(0, length),
  };
}
