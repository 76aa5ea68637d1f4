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
/** No line of a server is longer. */
const MAX_LINE_BYTES = 64 * 1024;

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
    const translated = async (line: string): Promise<string> => {
      const port = passivePort(line);
      if (port === undefined) return line;
      // The one before has been used, or never will be: a server may name ports without end.
      data?.retire();
      const host = outer.remoteAddress;
      if (host === undefined) return line;
      const relay = await openRelay((signal) => connect(signal, { host, port }));
      data = relay;
      if (inner.destroyed) relay.close();
      return line.startsWith('229')
        ? `229 Entering Extended Passive Mode (|||${relay.port}|)\r\n`
        : `227 Entering Passive Mode (127,0,0,1,${relay.port >> 8},${relay.port & 255}).\r\n`;
    };
    const replies = async function* (said: AsyncIterable<Buffer>) {
      let rest = '';
      for await (const bytes of said) {
        rest += bytes.toString('latin1');
        for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
          const line = await translated(rest.slice(0, end + 1));
          rest = rest.slice(end + 1);
          yield Buffer.from(line, 'latin1');
        }
        if (rest.length > MAX_LINE_BYTES) return;
      }
    };
    pipeline(outer, replies, inner)
      .catch(() => undefined)
      .finally(() => outer.destroy());
  });
}

/** Where a server waits for data, by what it says (RFC 959, 2428). */
function passivePort(line: string): number | undefined {
  const extended = /^229 .*\((.)\1\1(\d{1,5})\1\)/.exec(line);
  if (extended) return valid(Number(extended[2]));
  const plain = /^227 .*?\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})/.exec(line);
  return plain ? valid(Number(plain[1]) * 256 + Number(plain[2])) : undefined;
}

function valid(port: number): number | undefined {
  return port >= LEAST_DATA_PORT && port < 65_536 ? port : undefined;
}
