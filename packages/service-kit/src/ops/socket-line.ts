import type { Socket } from 'node:net';

/** Sockets that wait, of each address in turn. */
export interface SocketLine {
  add(address: string, socket: Socket): void;
  remove(address: string, socket: Socket): void;
  isFilled(): boolean;
  take(): Socket | undefined;
}

/** @param options.fromBothEnds every second one that is taken is, of the addresses with one socket, the last that was added */
export function createSocketLine({ fromBothEnds = false } = {}): SocketLine {
  const waiting = new Map<string, Set<Socket>>();
  let taken = 0;
  const remove = (address: string, socket: Socket) => {
    const ofAddress = waiting.get(address);
    ofAddress?.delete(socket);
    if (ofAddress?.size === 0) waiting.delete(address);
  };
  const newest = () => [...waiting].findLast(([, ofAddress]) => ofAddress.size === 1);
  return {
    add(address, socket) {
      const ofAddress = waiting.get(address) ?? new Set<Socket>();
      waiting.set(address, ofAddress.add(socket));
    },
    remove,
    isFilled: () => waiting.size > 0,
    take() {
      taken += 1;
      const [oldest] = waiting;
      const next = (fromBothEnds && taken % 2 === 0 ? newest() : undefined) ?? oldest;
      if (!next) return undefined;
      const [address, ofAddress] = next;
      const [socket] = ofAddress;
      waiting.delete(address);
      if (socket) ofAddress.delete(socket);
      if (ofAddress.size > 0) waiting.set(address, ofAddress);
      return socket;
    },
  };
}
