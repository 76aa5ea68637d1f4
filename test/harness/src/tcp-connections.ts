import { readFile } from 'node:fs/promises';

// Of the kernel's TCP states; in CLOSE_WAIT the other end has closed it.
const ESTABLISHED = '01';
const CLOSE_WAIT = '08';

/**
 * How many connections the server on that port of an IPv4 address has not closed, by the kernel's table (Linux). One that waits to be accepted
 * counts.
 */
export async function countConnections(port: number): Promise<number> {
  return (await readTable()).filter(({ local, state }) => local === port && (state === ESTABLISHED || state === CLOSE_WAIT)).length;
}

/**
 * How many connections to that port clients of this machine have, that no end has closed. They are seen to close at once, also by a server that does
 * not read: what a client could not send any more does not count.
 */
export async function countClients(port: number): Promise<number> {
  return (await readTable()).filter(({ remote, state }) => remote === port && state === ESTABLISHED).length;
}

/** The ports and states of all IPv4 connections. */
async function readTable(): Promise<{ local: number; remote: number; state: string }[]> {
  const rows = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n').slice(1);
  return rows.map((row) => {
    const [, local = '', remote = '', state = ''] = row.trim().split(/\s+/);
    return { local: portOf(local), remote: portOf(remote), state };
  });
}

/** Of an address as the kernel writes it, such as `0100007F:1F90`. */
function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1] ?? '', 16);
}
