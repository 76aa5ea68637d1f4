/** Bytes that come in pieces, as one. */
interface GatheredBytes {
  add(piece: Uint8Array): void;
  /** All that came; nothing is to be added afterwards. */
  whole(): Buffer;
}

/**
 * Puts pieces together as they come. A list of the pieces would take some 400 bytes for each of them, and a client decides how many there are: each
 * chunk of a chunked body is a piece, be it of one byte.
 */
export function gatherBytes(): GatheredBytes {
  let room = Buffer.alloc(0);
  let length = 0;
  return {
    add(piece) {
      const needed = length + piece.byteLength;
      if (needed > room.byteLength) {
        // The first piece is mostly the only one.
        const larger = Buffer.allocUnsafe(length === 0 ? needed : Math.max(needed, 2 * room.byteLength));
        room.copy(larger, 0, 0, length);
        room = larger;
      }
      room.set(piece, length);
      length = needed;
    },
    whole: () => room.subarray(0, length),
  };
}
