import { AppError } from '@wharf/errors';

/** What a server answered. */
export interface Reply {
  readonly code: number;
  /** Without the code in the first and last; one character for each byte. */
  readonly lines: readonly string[];
}

/** The largest answer that makes sense lists one folder's features or one file. */
const MAX_REPLY_BYTES = 64 * 1024;

/** Puts replies together from what a connection brings (RFC 959, 4.2): one line, or several from `250-` to `250 `. */
export class ReplyReader {
  #rest = '';
  #code = 0;
  #lines: string[] = [];
  #bytes = 0;

  /** A reply has begun, and its end is to come. */
  get isHalfway(): boolean {
    return this.#rest !== '' || this.#lines.length > 0;
  }

  /** @returns the replies that are whole. @throws AppError STORAGE_UNAVAILABLE: that is no FTP, or without end */
  take(chunk: Buffer): Reply[] {
    const replies: Reply[] = [];
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_REPLY_BYTES) throw new AppError('STORAGE_UNAVAILABLE', 'the server answers without end');
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const reply = this.#add(line.replace(/\r$/, ''));
      if (reply) replies.push(reply);
    }
    return replies;
  }

  #add(line: string): Reply | undefined {
    const [, digits, mark] = /^([1-5]\d\d)([ -]|$)/.exec(line) ?? [];
    if (this.#lines.length > 0) {
      const isLast = Number(digits) === this.#code && mark !== '-';
      this.#lines.push(isLast ? line.slice(4) : line);
      return isLast ? this.#whole() : undefined;
    }
    if (digits === undefined) throw new AppError('STORAGE_UNAVAILABLE', 'the server does not speak FTP');
    this.#code = Number(digits);
    this.#lines.push(line.slice(4));
    return mark === '-' ? undefined : this.#whole();
  }

  #whole(): Reply {
    const reply = { code: this.#code, lines: this.#lines };
    this.#lines = [];
    this.#bytes = this.#rest.length;
    return reply;
  }
}
