/** The head of an HTTP/1.1 answer. */
export interface ResponseHead {
  readonly statusCode: number;
  /** By lower-case name; of a name that comes twice the first counts. */
  readonly headers: Record<string, string>;
  /** Bytes of the body; undefined where only its framing or the end of the connection tells. */
  readonly bodyBytes: number | undefined;
  /** Whether the connection can be asked again after the body. */
  readonly isKept: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Neither these statuses nor those below 200 have a body. */
const WITHOUT_BODY = new Set([204, 304]);

/**
 * Reads what a server sent before the empty line, as RFC 9112 has it, without the leniency that lets two readers differ.
 *
 * @param text in latin1, without the empty line
 * @returns undefined for what is no such head
 */
export function parseResponseHead(text: string): ResponseHead | undefined {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const status = STATUS_LINE.exec(statusLine);
  if (!status) return undefined;
  const statusCode = Number(status[2]);
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (colon < 1 || !FIELD_NAME.test(name) || /[\r\n\0]/.test(line)) return undefined;
    if (name === 'content-length' && (!/^\d{1,15}$/.test(value) || (headers[name] ?? value) !== value)) return undefined;
    headers[name] ??= value;
  }
  const length = headers['content-length'];
  const isFramed = headers['transfer-encoding'] !== undefined;
  const hasBody = statusCode >= 200 && !WITHOUT_BODY.has(statusCode);
  const bodyBytes = hasBody ? (isFramed || length === undefined ? undefined : Number(length)) : 0;
  const isKept = status[1] === '1' && !/\bclose\b/i.test(headers['connection'] ?? '');
  return { statusCode, headers, bodyBytes, isKept };
}
