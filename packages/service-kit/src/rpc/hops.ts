import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { AppError } from '@wharf/errors';

/**
 * Has the installations that a request came through on its way to a storage of a storage, the first one first, separated by commas. Gateways that
 * mount each other tell by it that a way goes round in a circle.
 */
export const HOPS_HEADER = 'X-Wharf-Hops';
/** Of the answer to such a request: whose it is. */
export const INSTALLATION_HEADER = 'X-Wharf-Installation';

/** More gateways behind each other are refused. */
export const MAX_HOPS = 8;

const INSTALLATION = /^[0-9a-f]{32}$/;

/** What a header says. What is no list of installations says nothing. */
export function parseHops(text: string | undefined): readonly string[] {
  if (text === undefined || text.length > (MAX_HOPS + 1) * 34) return [];
  const hops = text.split(',').map((hop) => hop.trim());
  return hops.every((hop) => INSTALLATION.test(hop)) ? hops : [];
}

/** The gateways that a request came through; none for a client that is no gateway. */
export function hopsOf({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  const text = headers[HOPS_HEADER.toLowerCase()];
  return typeof text === 'string' ? parseHops(text) : [];
}

/** Why a request is refused that has come through this very installation, or through more gateways than may stand behind each other. */
export function refusalOfHops(installation: string, hops: readonly string[]): AppError | undefined {
  if (hops.includes(installation)) {
    return new AppError('CIRCULAR_MOUNT', 'the path leads back to the gateway that it came from: gateways mount each other in a circle');
  }
  if (hops.length > MAX_HOPS) return new AppError('CIRCULAR_MOUNT', `more than ${MAX_HOPS} gateways stand behind each other`);
  return undefined;
}

export function formatHops(hops: readonly string[]): string {
  return hops.join(',');
}

/** Carried along with a call instead of handed on: nothing between a handler and the driver that it ends at needs to know of them. */
const served = new AsyncLocalStorage<readonly string[]>();

/** The hops of the call that is being served; none outside of one. */
function servedHops(): readonly string[] {
  return served.getStore() ?? [];
}

/** How this installation shows itself to the gateways that are its storages. */
export function trailOf(installation: string) {
  return {
    own: { [HOPS_HEADER]: installation },
    headers: () => ({ [HOPS_HEADER]: formatHops([...servedHops(), installation]) }),
    installationOf: (headers: Readonly<Record<string, unknown>>) => {
      const told = headers[INSTALLATION_HEADER.toLowerCase()];
      return typeof told === 'string' && INSTALLATION.test(told) ? told : undefined;
    },
  };
}

/** Runs what serves a call that came through other gateways. @param start answers anything, a promise, or messages one after the other */
export function withHops<Result>(hops: readonly string[], start: () => Result): Result {
  const answer = served.run(hops, start);
  return isIterable(answer) ? (eachWithHops(hops, answer) as Result) : answer;
}

async function* eachWithHops(hops: readonly string[], messages: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
  const source = messages[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await served.run(hops, () => source.next());
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    await served.run(hops, () => source.return?.());
  }
}

function isIterable(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
}
