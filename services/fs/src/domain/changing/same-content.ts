import { whileOpen } from '../../driver-contract/while-open.ts';
import type { OwnCall, Place } from './operations/operation.ts';

/** Reads both files at once and compares them. */
export function haveSameContent(from: Place, to: Place, call: OwnCall): Promise<boolean> {
  return hasContent(to, (reading) => from.driver.read(from.path, undefined, { ...call, signal: reading }), call);
}

/** Reads a file and what it is compared with at once. @param open the other content; its signal aborts when no more of it is needed */
export async function hasContent(
  file: Place,
  open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>,
  call: OwnCall,
): Promise<boolean> {
  // In one turn of the event loop: of those who wait for their turn, none has one of the two and waits for one who has the other.
  const openBoth = (reading: AbortSignal) =>
    Promise.all([open(reading), file.driver.read(file.path, undefined, { ...call, signal: reading })]);
  return whileOpen(call.signal, openBoth, async ([here, there]) => {
    const others = there[Symbol.asyncIterator]();
    let rest: Uint8Array = new Uint8Array();
    for await (const chunk of here) {
      for (let at = 0; at < chunk.byteLength; ) {
        if (rest.byteLength === 0) {
          const step = await others.next();
          if (step.done) return false;
          rest = step.value;
        }
        const length = Math.min(rest.byteLength, chunk.byteLength - at);
        if (Buffer.compare(chunk.subarray(at, at + length), rest.subarray(0, length)) !== 0) return false;
        at += length;
        rest = rest.subarray(length);
      }
    }
    return rest.byteLength === 0 && (await others.next()).done === true;
  });
}
