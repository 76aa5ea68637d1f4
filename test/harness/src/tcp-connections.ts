import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';

// Of the kernel's TCP states; in CLOSE_WAIT the other end has closed it.
const ESTABLISHED = '01';
const CLOSE_WAIT = '08';

/**
 * How many connections the server on these ports of an IPv4 address has not closed, by the kernel's table (Linux). One that waits to be accepted
 * counts.
 */
export async function countConnections(...ports: readonly number[]): Promise<number> {
  return (await readTable()).filter(({ local, state }) => ports.includes(local) && (state === ESTABLISHED || state === CLOSE_WAIT)).length;
}

/**
 * How many connections to these ports of an IPv4 address clients of this machine have, that no end has closed. They are seen to close at once, also by a server that does
 * not read: what a client could not send any more does not count.
 */
export async function countClients(host: string, ports: readonly number[]): Promise<number> {
  const address = `${Buffer.from(host.split('.').reverse().map(Number)).toString('hex')}:`.toUpperCase();
  const isTo = ({ remoteAddress, remote }: Row) => remoteAddress.startsWith(address) && ports.includes(remote);
  return (await readTable()).filter((row) => isTo(row) && row.state === ESTABLISHED).length;
}

interface Row {
  readonly local: number;
  readonly remote: number;
  /** As the kernel writes it, with its port. */
  readonly remoteAddress: string;
  readonly state: string;
}

/** A row of the kernel's table that is counted: addresses and ports in hexadecimal digits, and the state. The ended, of which there may be ten thousand, are not read. */
const COUNTED = new RegExp(`^ *\\d+: [\\dA-F]+:([\\dA-F]+) ([\\dA-F]+:([\\dA-F]+)) (${ESTABLISHED}|${CLOSE_WAIT}) `, 'gm');

/** The ports and states of all IPv4 connections that an end has not closed. */
async function readTable(): Promise<Row[]> {
  const rows = (await readFile('/proc/net/tcp', 'utf8')).matchAll(COUNTED);
  return Array.from(rows, ([, local = '', remoteAddress = '', remote = '', state = '']) => ({
    local: Number.parseInt(local, 16),
    remote: Number.parseInt(remote, 16),
    remoteAddress,
    state,
  }));
}

/** Connects to a port of 127.0.0.1, and leaves. @throws the system's error: nobody listens there */
export async function reach(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
