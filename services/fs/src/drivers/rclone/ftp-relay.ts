import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { openRelay, type Relay } from './relay.ts';

/** Where a server waits for data. */
export interface DataPlace {
  /** An address, no name. */
  readonly host: string;
  readonly port: number;
}

/** Below it are ports of services, which no server opens for data. */
const LEAST_DATA_PORT = 1024;
/** No line of a server is longer, and no reply that names such a port. */
const MAX_LINE_BYTES = 64 * 1024;
/** What rclone is told of a reply of passive mode that is not understood. */
const REFUSAL = "425 Can't open data connection.\r\n";
/** RFC 959, 4.2: all lines up to one with the same number and a space are one reply. */
const SEVERAL_LINES = /^[1-9]\d\d-/;
const PASSIVE = /^22[79][ -]/;

/**
 * The same for FTP without TLS, whose server opens a port for each transfer: a port of ours takes its place, which leads to that port of the same server,
 * whatever address it names.
 *
 * @param connect makes a connection to the server; where it waits for data, to the address that its commands go to: its name may mean another one by now
 */
export function openFtpRelay(connect: (signal: AbortSignal, data?: DataPlace) => Promise<Socket>): Promise<Relay> {
  return openRelay(connect, (inner, outer) => {
    /** For the transfer that comes next, or is under way. */
    let data: Relay | undefined;
    inner.once('close', () => data?.close());
    inner.pipe(outer);
    const translated = async (reply: string): Promise<string> => {
      const port = passivePort(reply);
      const host = outer.remoteAddress;
      if (port === undefined || host === undefined) return REFUSAL;
      // The one before has been used, or never will be: a server may name ports without end.
      data?.retire();
      const relay = await openRelay((signal) => connect(signal, { host, port }));
      data = relay;
      if (inner.destroyed) relay.close();
      return reply.startsWith('229')
        ? `229 Entering Extended Passive Mode (|||${relay.port}|)\r\n`
        : `227 Entering Passive Mode (127,0,0,1,${relay.port >> 8},${relay.port & 255}).\r\n`;
    };
    pipeline(outer, (said: AsyncIterable<Buffer>) => safeReplies(said, translated), inner)
      .catch(() => undefined)
      .finally(() => outer.destroy());
  });
}

/**
 * Passes on what a server says, line by line, but for replies of passive mode: rclone goes wherever such a reply leads, so none gets there as the server
 * said it, whole or in parts. Other lines that come together go on together: one by one, 64 KiB of empty ones kept the thread for a second.
 *
 * @param translated what is said in the place of such a reply, given all its lines
 * @internal exported for its test
 */
export async function* safeReplies(said: AsyncIterable<Buffer>, translated: (reply: string) => Promise<string>): AsyncGenerator<Buffer> {
  let rest = '';
  /** The lines so far of a reply of passive mode. */
  let passive = '';
  /** What the last line of the reply begins with, within one of several lines. */
  let end: string | undefined;
  for await (const bytes of said) {
    rest += bytes.toString('latin1');
    let plain = '';
    for (let feed = rest.indexOf('\n'); feed >= 0; feed = rest.indexOf('\n')) {
      const line = rest.slice(0, feed + 1);
      rest = rest.slice(feed + 1);
      const isFirst = end === undefined;
      if (isFirst ? SEVERAL_LINES.test(line) : line.startsWith(end ?? '')) end = isFirst ? `${line.slice(0, 3)} ` : undefined;
      if (passive === '' && !(isFirst && PASSIVE.test(line))) {
        // An rclone that has given up the reply around it would take it for one by itself.
        plain += PASSIVE.test(line) ? ` ${line}` : line;
        continue;
      }
      passive += line;
      if (passive.length > MAX_LINE_BYTES) return;
      if (end !== undefined) continue;
      yield Buffer.from(plain + (await translated(passive)), 'latin1');
      plain = '';
      passive = '';
    }
    if (plain !== '') yield Buffer.from(plain, 'latin1');
    if (rest.length > MAX_LINE_BYTES) return;
  }
}

/** Where a server waits for data, by what it says (RFC 959, 2428). */
function passivePort(reply: string): number | undefined {
  const extended = /^229.*\((.)\1\1(\d{1,5})\1\)/s.exec(reply);
  if (extended) return valid(Number(extended[2]));
  const plain = /^227.*?\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})/s.exec(reply);
  return plain ? valid(Number(plain[1]) * 256 + Number(plain[2])) : undefined;
}

function valid(port: number): number | undefined {
  return port >= LEAST_DATA_PORT && port < 65_536 ? port : undefined;
}
