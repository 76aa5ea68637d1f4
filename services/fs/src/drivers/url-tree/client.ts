import type { Answer, Egress, GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';

const MAX_REDIRECTS = 5;
const MAX_CONNECTIONS = 8;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Of a server that sends the whole file where a range was asked for: so much is read and dropped. */
const MAX_SKIPPED_BYTES = 8 * 1024 * 1024;
/** For so long a server that did not answer is asked for no sizes, in milliseconds: each listing waited for it. */
const UNANSWERED_MS = 5 * 60_000;
const MAX_UNANSWERED = 1_000;

/** A body that waits to be read. */
export interface FetchedBody {
  readonly answer: Answer;
  /** To be dropped at its begin. */
  readonly skipBytes: number;
  /** Of the whole file; undefined where the server does not tell. */
  readonly sizeBytes: number | undefined;
}

/** Fetches what other servers have. Every address, also one that a server leads on to, is looked at by the policy before it is connected to. */
export class UrlClient {
  readonly #egress: Egress;
  readonly #client: GuardedClient;
  /** Until when servers, by their origin, are not asked for sizes. */
  readonly #unanswered = new Map<string, number>();

  constructor(egress: Egress) {
    this.#egress = egress;
    this.#client = egress.openClient({ maxConnections: MAX_CONNECTIONS });
  }

  /** The size of a file; undefined where the server does not tell. */
  async size(address: string, options: CallOptions): Promise<number | undefined> {
    const answer = await this.#ask('HEAD', address, {}, options);
    answer.destroy();
    // Programs that make a file when it is asked for often say 0 here: the file would be shown, and copied, as empty.
    return (answer.statusCode === 200 && lengthOf(answer)) || undefined;
  }

  /** @param end exclusive; undefined: to the end. @throws AppError ENTRY_NOT_FOUND | STORAGE_UNAVAILABLE | RANGE_NOT_SATISFIABLE */
  async get(address: string, start: number, end: number | undefined, options: CallOptions): Promise<FetchedBody> {
    const isWhole = start === 0 && end === undefined;
    const headers = isWhole ? {} : { range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
    const answer = await this.#ask('GET', address, headers, options);
    try {
      return bodyOf(answer, start);
    } catch (error) {
      answer.destroy();
      throw error;
    }
  }

  close(): void {
    this.#client.close();
  }

  async #ask(method: string, first: string, headers: Record<string, string>, { signal }: CallOptions): Promise<Answer> {
    let url = this.#egress.parseUrl(first);
    for (let hops = 0; ; hops++) {
      const asked = { url, method, headers: { ...headers, 'accept-encoding': 'identity' }, signal, isBulk: method === 'GET' };
      const answer = await (method === 'HEAD'
        ? this.#unlessUnanswered(url, () => this.#client.request(asked))
        : this.#client.request(asked));
      this.#unanswered.delete(url.origin);
      const { location } = answer.headers;
      if (!REDIRECTS.includes(answer.statusCode ?? 0) || location === undefined) return answer;
      answer.destroy();
      if (hops === MAX_REDIRECTS) throw new AppError('STORAGE_UNAVAILABLE', 'the server of the file leads on and on');
      const next = this.#egress.parseUrl(location, url);
      if (url.protocol === 'https:' && next.protocol === 'http:') {
        throw new AppError('PERMISSION_DENIED', 'the server of the file leads from https to http');
      }
      url = next;
    }
  }

  async #unlessUnanswered({ origin }: URL, ask: () => Promise<Answer>): Promise<Answer> {
    if ((this.#unanswered.get(origin) ?? 0) > performance.now()) {
      throw new AppError('STORAGE_UNAVAILABLE', 'the server of the file did not answer a moment ago');
    }
    try {
      return await ask();
    } catch (error) {
      if (AppError.is(error, 'STORAGE_UNAVAILABLE') || AppError.is(error, 'DEADLINE_EXCEEDED')) {
        this.#unanswered.set(origin, performance.now() + UNANSWERED_MS);
        const [oldest] = this.#unanswered.keys();
        if (this.#unanswered.size > MAX_UNANSWERED && oldest !== undefined) this.#unanswered.delete(oldest);
      }
      throw error;
    }
  }
}

function bodyOf(answer: Answer, start: number): FetchedBody {
  switch (answer.statusCode) {
    case 200:
      if (start > MAX_SKIPPED_BYTES) throw new AppError('UNSUPPORTED_OPERATION', 'the server of the file has no ranges');
      return { answer, skipBytes: start, sizeBytes: lengthOf(answer) };
    case 206: {
      const [, first, whole] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.headers['content-range'] ?? '') ?? [];
      if (Number(first) !== start) throw new AppError('STORAGE_UNAVAILABLE', 'the server of the file sends another range');
      return { answer, skipBytes: 0, sizeBytes: whole === '*' || whole === undefined ? undefined : Number(whole) };
    }
    case 404:
    case 410:
      throw storageError('ENTRY_NOT_FOUND');
    case 401:
    case 403:
      throw storageError('PERMISSION_DENIED');
    case 416:
      throw storageError('RANGE_NOT_SATISFIABLE');
    default:
      throw new AppError('STORAGE_UNAVAILABLE', `the server of the file answers ${answer.statusCode}`);
  }
}

function lengthOf({ headers }: Answer): number | undefined {
  const text = headers['content-length'];
  return text !== undefined && /^\d{1,15}$/.test(text) && headers['content-encoding'] === undefined ? Number(text) : undefined;
}
