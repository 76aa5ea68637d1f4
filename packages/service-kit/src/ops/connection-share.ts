import type { Socket } from 'node:net';
import { plainAddress } from '../http/plain-address.ts';

/** How much of a port one client may have. */
export interface ConnectionShare {
  /** Connections of one address at a time (of IPv6: of one network, /64). Never more than half of what the port takes. */
  readonly perAddress: number;
  /** Whether the address is that of a proxy: its connections are those of many, and not counted. */
  isProxy(address: string): boolean;
  /** Called with the address of each connection that is closed because its address has enough of them. */
  onRefused?(address: string): void;
}

/** No address has more of a port than this fraction. */
const SHARES = 2;

/** Closes the connections of an address beyond its share, unread. A listener for `connection` of a server that takes so many in all. */
export function shareConnections(share: ConnectionShare, maxConnections: number): (socket: Socket) => void {
  const most = Math.min(share.perAddress, Math.ceil(maxConnections / SHARES));
  const openOf = new Map<string, number>();
  return (socket) => {
    const peer = socket.remoteAddress ?? '';
    if (share.isProxy(peer)) return;
    const address = plainAddress(peer);
    const open = openOf.get(address) ?? 0;
    if (open >= most) {
      share.onRefused?.(address);
      return void socket.destroy();
    }
    openOf.set(address, open + 1);
    socket.once('close', () => {
      const left = (openOf.get(address) ?? 0) - 1;
      if (left > 0) openOf.set(address, left);
      else openOf.delete(address);
    });
  };
}
