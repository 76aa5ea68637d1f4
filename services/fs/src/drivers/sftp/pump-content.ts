import type { RemoteFile } from './remote-file.ts';

/** Small pieces are gathered to so much, which a server should take in one request. */
const REQUEST_BYTES = 32 * 1024;

/**
 * Writes content to an open file, from an offset on, with as many requests on their way at once as the connection may have. A piece is not looked at any more when the next
 * one is asked for: what goes out is a copy.
 *
 * @param onSent told when the last of it is on its way, and nothing has failed by then
 * @returns the bytes written; all of them are acknowledged
 */
export async function pumpContent(
  file: RemoteFile,
  content: AsyncIterable<Uint8Array>,
  offsetBytes = 0,
  onSent: () => void = () => undefined,
): Promise<number> {
  const window = new Window(file);
  const gathered = Buffer.allocUnsafe(REQUEST_BYTES);
  let gatheredBytes = 0;
  let position = offsetBytes;
  const send = async (bytes: Uint8Array) => {
    const at = position;
    position += bytes.byteLength;
    await window.add(bytes, at);
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
    window.check();
    onSent();
  } finally {
    // Nothing of it arrives after whoever called has gone on.
    await window.settled();
  }
  window.check();
  return position - offsetBytes;
}

/** Requests of one writer on their way; the first failure ends it. */
class Window {
  readonly #file: RemoteFile;
  #inFlight = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(file: RemoteFile) {
    this.#file = file;
  }

  /** Begins a request as soon as the connection has room for it. @throws what an earlier one failed with */
  async add(bytes: Uint8Array, position: number): Promise<void> {
    const { session, handle } = this.#file;
    this.check();
    const leave = await session.writing.enter(undefined);
    this.#inFlight += 1;
    session
      .write(handle, bytes, position)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        leave();
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
