import { randomBytes } from 'node:crypto';
import { type EgressPolicy, startGuardedProxy } from '@wharf/egress';
import { AppError } from '@wharf/errors';

/** The guarded proxy of this replica, as a tool reaches it. */
export interface ToolProxy {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Makes up a host for which a tool is to ask the proxy. The proxy connects to nothing for it. */
  expectVisit(): ExpectedVisit;
}

export interface ExpectedVisit {
  readonly host: string;
  /** True once a client with the password has asked for the host. */
  hasCome(): boolean;
  /** Stops waiting for the host. */
  forget(): void;
}

/** @param options.url where tools reach it; undefined: they are on this machine. */
export async function startToolProxy(options: {
  readonly policy: EgressPolicy;
  readonly bind: string;
  readonly port: number;
  readonly url: string | undefined;
}): Promise<ToolProxy & { close(): Promise<void> }> {
  const expected = new Map<string, boolean>();
  const policy: EgressPolicy = {
    ...options.policy,
    async resolve(host, port) {
      if (!expected.has(host)) return options.policy.resolve(host, port);
      expected.set(host, true);
      throw new AppError('PERMISSION_DENIED', 'nothing is there');
    },
  };
  const { port, username, password, close } = await startGuardedProxy(policy, options.bind, options.port);
  return {
    ...{ url: options.url ?? `http://127.0.0.1:${port}`, username, password, close },
    expectVisit() {
      const host = `${randomBytes(16).toString('hex')}.invalid`;
      expected.set(host, false);
      return { host, hasCome: () => expected.get(host) === true, forget: () => void expected.delete(host) };
    },
  };
}
