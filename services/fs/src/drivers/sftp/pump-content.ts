import { REQUEST_BYTES } from './file-content.ts';
import type { RemoteFile } from './remote-file.ts';

/** So many requests are on their way to the server: 2 MiB. */
const MAX_IN_FLIGHT = 64;

/**
 * Writes content to an open file, from an offset on, with many requests on their way at once. A piece is not looked at any more when the next
 * one is asked for: what goes out is a copy.
 *
 * @returns the bytes written; all of them are acknowledged
 */
export async function pumpContent(file: RemoteFile, content: AsyncIterable<Uint8Array>, offsetBytes = 0): Promise<number> {
  const window = new Window();
  const gathered = Buffer.allocUnsafe(REQUEST_BYTES);
  let gatheredBytes = 0;
  let position = offsetBytes;
  const send = async (bytes: Uint8Array) => {
    const at = position;
    position += bytes.byteLength;
    await window.add(() => file.session.write(file.handle, bytes, at));
  };
  try {
    for await (const piece of content) {
      for (let rest = piece; rest.byteLength > 0; ) {
        const part = rest.subarray(0, REQUEST_BYTES - gatheredBytes);
        rest = rest.subarray(part.byteLength);
        if (part.byteLength === REQUEST_BYTES) {
          await send(part);
          continue;
        }
        gathered.set(part, gatheredBytes);
        gatheredBytes += part.byteLength;
        if (gatheredBytes < REQUEST_BYTES) continue;
        await send(gathered);
        gatheredBytes = 0;
      }
    }
    if (gatheredBytes > 0) await send(gathered.subarray(0, gatheredBytes));
  } finally {
    // Nothing of it arrives after whoever called has gone on.
    await window.settled();
  }
  window.check();
  return position - offsetBytes;
}

/** Requests on their way: a bounded number, the first failure ends it. */
class Window {
  #inFlight = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  /** Begins a request as soon as there is room. @throws what an earlier one failed with */
  async add(request: () => Promise<void>): Promise<void> {
    while (this.#inFlight >= MAX_IN_FLIGHT && !this.#failure) await this.#change();
    this.check();
    this.#inFlight += 1;
    request()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#inFlight -= 1;
        this.#wake();
      });
  }

  async settled(): Promise<void> {
    while (this.#inFlight > 0) await this.#change();
  }

  check(): void {
    if (this.#failure) throw this.#failure.error;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
