import { readFile } from 'node:fs/promises';

/** Of the kernel's TCP states those that a server has not ended: ESTABLISHED and CLOSE_WAIT. */
const HELD = new Set(['01', '08']);

/** How many connections the server on that port of an IPv4 address has now, by the kernel's table (Linux). One that waits to be accepted counts. */
export async function countConnections(port: number): Promise<number> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  return rows.filter(([, local, , state]) => local?.endsWith(suffix) && state !== undefined && HELD.has(state)).length;
}
