import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { countClients } from './tcp-connections.ts';
import { waitFor } from './wait-for.ts';

/** A way to a server that can be made bad. Its faults hold for the connections that are open and for new ones. */
export interface FaultProxy {
  readonly host: string;
  readonly port: number;
  /** How long each piece takes in each direction, beside the network's own time; they stay in order. An answer comes after twice of it. */
  latencyMs: number;
  /** Connections are accepted and stay open, and nothing passes. */
  stall(): void;
  /** Connections are refused (ECONNREFUSED); those that are open go on. */
  refuse(): void;
  /** Ends `stall` and `refuse`: what was held back passes now. */
  resume(): Promise<void>;
  /**
   * Closes both ends of a connection when that many more bytes of it have reached the client: exactly these, then the end. The last call holds.
   *
   * @param times how many connections that is done to; default 1.
   */
  cutAfter(bytes: number, times?: number): void;
  /** Breaks all connections that are open (RST on both ends). */
  breakAll(): void;
  /** How many were accepted until now. */
  accepted(): number;
  /** How many are open now: no end has closed them. By the kernel's table (Linux), so it is true while stalled. */
  connections(): Promise<number>;
  /** Waits until none is open, at most `withinMs` (default 10,000). */
  closed(withinMs?: number): Promise<void>;
  /** Written to clients until now, of all connections. */
  bytesToClient(): number;
  bytesToServer(): number;
  /** How often clients sent something until now after the server had, of all connections: what they asked and waited for. */
  questions(): number;
  /** Closes it with all connections; safe to call twice. */
  stop(): Promise<void>;
}

/** What all connections of a proxy obey. */
interface Faults {
  latencyMs: number;
  stalled: boolean;
  cut: { bytes: number; times: number };
}

/** One direction of one connection. */
interface Lane {
  /** Passes what may pass now. */
  pump(): void;
}

/** Bounds what latency keeps under way in one direction: 800 MiB/s at 20 ms. */
const UNDER_WAY_BYTES = 16 * 1024 * 1024;
/** What is kept where nothing is under way: of a stalled connection, or for an end that does not read. Its sender feels that. */
const KEPT_BYTES = 64 * 1024;
const HOST = '127.0.0.1';

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Starts a TCP proxy on a port of loopback. Without faults it passes all, half-closed connections too.
 *
 * @param options.to several get connections in turn
 * @param options.samePorts where the server tells clients to come to too: the proxy is on an address of its own then, and has each of these ports.
 */
export async function startFaultProxy({
  to,
  latencyMs = 0,
  samePorts = [],
}: {
  to: Address | readonly Address[];
  latencyMs?: number;
  samePorts?: readonly number[];
}): Promise<FaultProxy> {
  const faults: Faults = { latencyMs, stalled: false, cut: { bytes: 0, times: 0 } };
  const targets = [to].flat();
  const pairs = new Map<readonly [Socket, Socket], Lane[]>();
  const counts = { accepted: 0, toClient: 0, toServer: 0, questions: 0 };
  const host = samePorts.length === 0 ? HOST : ownAddress();
  const accept = (client: Socket, ownPort?: number) => {
    const target = targets[counts.accepted % targets.length] ?? { host: HOST, port: 0 };
    counts.accepted += 1;
    const server = connect({ host: target.host, port: ownPort ?? target.port, allowHalfOpen: true, noDelay: true });
    const pair = [client, server] as const;
    let isAsking = false;
    const upward = createLane(client, server, faults, (piece) => {
      counts.toServer += piece.length;
      if (!isAsking) counts.questions += 1;
      isAsking = true;
      return false;
    });
    const own = { cut: faults.cut, bytes: 0 };
    const downward = createLane(server, client, faults, (piece) => {
      isAsking = false;
      const { passed, isCut } = cutPiece(piece, faults.cut, own);
      counts.toClient += passed.length;
      if (!isCut) return false;
      // What the client still sends is read and lost: unread, it would turn the end into a reset that overtakes the last bytes.
      server.destroy();
      client.removeAllListeners('data').resume().end(passed);
      client.once('end', () => client.destroy());
      return true;
    });
    pairs.set(pair, [upward, downward]);
    for (const [one, other] of [pair, [server, client] as const]) {
      one.on('error', () => other.resetAndDestroy());
      one.on('close', () => {
        if (client.destroyed && server.destroyed) pairs.delete(pair);
      });
    }
  };
  const listenerFor = (ownPort?: number) => createServer({ allowHalfOpen: true, noDelay: true }, (client) => accept(client, ownPort));
  const listener = listenerFor();
  await listen(listener, { host, port: 0 });
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const { port } = address;
  const listeners = [{ listener, port }, ...samePorts.map((own) => ({ listener: listenerFor(own), port: own }))];
  const listenAll = async () => {
    const closed = listeners.filter((one) => !one.listener.listening);
    await Promise.all(closed.map((one) => listen(one.listener, { host, port: one.port })));
  };
  const refuse = () => {
    for (const one of listeners) one.listener.close();
  };
  await listenAll();
  const connections = () => countClients(host, [port, ...samePorts]);
  const breakAll = () => {
    for (const pair of pairs.keys()) for (const socket of pair) socket.resetAndDestroy();
  };
  return {
    host,
    port,
    get latencyMs() {
      return faults.latencyMs;
    },
    set latencyMs(ms) {
      faults.latencyMs = ms;
    },
    stall() {
      faults.stalled = true;
    },
    refuse,
    async resume() {
      faults.stalled = false;
      for (const lanes of pairs.values()) for (const lane of lanes) lane.pump();
      await listenAll();
    },
    cutAfter(bytes, times = 1) {
      faults.cut = { bytes, times };
    },
    breakAll,
    accepted: () => counts.accepted,
    connections,
    async closed(withinMs = 10_000) {
      await waitFor('connections to end', async () => (await connections()) === 0, { withinMs });
    },
    bytesToClient: () => counts.toClient,
    bytesToServer: () => counts.toServer,
    questions: () => counts.questions,
    async stop() {
      refuse();
      breakAll();
    },
  };
}

async function listen(listener: Server, address: Address): Promise<void> {
  listener.listen(address);
  await once(listener, 'listening');
}

/** An address of loopback that nobody else uses: the whole block leads here. */
function ownAddress(): string {
  return ['127', randomInt(1, 255), randomInt(256), randomInt(1, 255)].join('.');
}

/**
 * Passes what comes from one end to the other, each piece as late as the faults say and all in order, the end included.
 *
 * @param take is told of each piece before it is written; true: it has dealt with it, and nothing passes from now on.
 */
function createLane(from: Socket, to: Socket, faults: Faults, take: (piece: Buffer) => boolean): Lane {
  const queue: { piece: Buffer | undefined; dueAt: number }[] = [];
  let heldBytes = 0;
  let isWaiting = false;
  const go = () => {
    isWaiting = false;
    pump();
  };
  const add = (piece: Buffer | undefined) => {
    queue.push({ piece, dueAt: performance.now() + faults.latencyMs });
    heldBytes += piece?.length ?? 0;
    pump();
  };
  const pump = () => {
    for (let head = queue[0]; !isWaiting && !faults.stalled && head !== undefined; head = queue[0]) {
      const waitMs = Math.ceil(head.dueAt - performance.now());
      if (waitMs > 0) {
        isWaiting = true;
        setTimeout(go, waitMs);
        break;
      }
      queue.shift();
      heldBytes -= head.piece?.length ?? 0;
      if (to.destroyed || to.writableEnded) continue;
      if (head.piece === undefined) to.end();
      else if (!take(head.piece) && !to.write(head.piece)) {
        isWaiting = true;
        to.once('drain', go);
      }
    }
    if (heldBytes > (faults.stalled || faults.latencyMs === 0 ? KEPT_BYTES : UNDER_WAY_BYTES)) from.pause();
    else if (from.isPaused()) from.resume();
  };
  from.on('data', add);
  from.on('end', () => add(undefined));
  return { pump };
}

/** What of a piece the client still gets. `own` is the connection's count since the cut was asked for. */
function cutPiece(piece: Buffer, cut: Faults['cut'], own: { cut: Faults['cut']; bytes: number }): { passed: Buffer; isCut: boolean } {
  if (own.cut !== cut) Object.assign(own, { cut, bytes: 0 });
  const left = cut.bytes - own.bytes;
  own.bytes += piece.length;
  if (cut.times === 0 || piece.length < left || left < 0) return { passed: piece, isCut: false };
  cut.times -= 1;
  return { passed: piece.subarray(0, left), isCut: true };
}
