import net, { type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { AppError } from '@wharf/errors';
import type { EgressPolicy } from './egress-policy.ts';
import { createGuardedClient, type GuardedClient, type GuardedClientOptions } from './guarded-client.ts';
import { trustBeside } from './trust.ts';

const CONNECT_TIMEOUT_MS = 15_000;

export interface ConnectOptions {
  readonly host: string;
  readonly port: number;
  readonly signal?: AbortSignal | undefined;
  /** Default 15,000. */
  readonly timeoutMs?: number;
}

/** The connections that this process may open to the network. All of them pass one policy. */
export interface Egress extends Pick<EgressPolicy, 'parseUrl'> {
  /**
   * The same for addresses that lead on to others that nobody here has entered: they are on the public Internet. Names of each one that is asked for are looked
   * up in turns with those of the others.
   */
  toPublic(): Egress;
  /** A client with connections of its own, to be closed by who asked for it. */
  openClient(options: GuardedClientOptions): GuardedClient;
  /**
   * A TCP connection that stands, for protocols that are not HTTP.
   * @throws AppError PERMISSION_DENIED (the policy) | STORAGE_UNAVAILABLE | DEADLINE_EXCEEDED | CANCELLED
   */
  connect(options: ConnectOptions): Promise<Socket>;
  /** What TLS over such a connection is verified by. @param certificate PEM: trusted beside the public authorities, of a server or of who signed it */
  trustBeside(certificate: string): SecureContext;
}

/** @param publicPolicy of what is reached by {@link Egress.toPublic}; the same, when absent */
export function createEgress(policy: EgressPolicy, publicPolicy = policy): Egress {
  let owners = 0;
  return {
    toPublic() {
      owners += 1;
      return createEgress(publicPolicy.forOwner(`storage ${owners}`));
    },
    parseUrl: (text, base) => policy.parseUrl(text, base),
    openClient: (options) => createGuardedClient(policy, options),
    trustBeside,
    async connect({ host, port, signal, timeoutMs = CONNECT_TIMEOUT_MS }) {
      const late = AbortSignal.timeout(timeoutMs);
      const stop = signal ? AbortSignal.any([signal, late]) : late;
      try {
        const addresses = await Promise.race([policy.resolve(host, port), aborted(stop)]);
        return await connectToFirst(addresses, port, stop);
      } catch (error) {
        if (signal?.aborted) throw AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'cancelled', { cause: error });
        if (late.aborted) throw new AppError('DEADLINE_EXCEEDED', `${host} could not be connected to in time`, { cause: error });
        throw AppError.is(error) ? error : new AppError('STORAGE_UNAVAILABLE', `${host} cannot be reached`, { cause: error });
      }
    },
  };
}

/** Only checked addresses are connected to, one after the other. */
async function connectToFirst(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  let failure: unknown;
  for (const host of addresses) {
    try {
      return await connectTo(host, port, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

function connectTo(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = net.connect({ host, port, noDelay: true });
  const stop = () => void socket.destroy(new Error('stopped'));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return new Promise<Socket>((resolve, reject) => {
    // It stays: the connection may break before its user listens.
    socket.on('error', reject);
    socket.once('connect', () => resolve(socket));
  }).finally(() => signal.removeEventListener('abort', stop));
}

function aborted(signal: AbortSignal): Promise<never> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}
