import type { AppError } from '@wharf/errors';
import type { Remote, RemoteWay } from './client.ts';
import type { Provider } from './providers.ts';
import type { Relay } from './relay.ts';

/** A server that rclone reaches by a port of ours. */
export function relayedWay(open: () => Promise<Relay>, remoteAt: (host: string, port: string) => Remote): RemoteWay {
  const opening = open();
  let relay: Relay | undefined;
  opening.then(
    (opened) => {
      relay = opened;
    },
    () => undefined,
  );
  return {
    async remote() {
      return remoteAt('127.0.0.1', String((await opening).port));
    },
    get failure() {
      return relay?.failure;
    },
    close: () => void opening.then((opened) => opened.close()).catch(() => undefined),
  };
}

/** Servers that rclone reaches by the proxy for HTTP. @param check what the policy says of those that were named */
export function webWay(
  check: () => Promise<void>,
  remote: (providers: readonly Provider[]) => Remote,
): RemoteWay & { readonly failure: AppError | undefined } {
  return {
    async remote(providers) {
      const made = remote(await providers());
      await check();
      return made;
    },
    failure: undefined,
    close: () => undefined,
  };
}
