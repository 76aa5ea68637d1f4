import { AppError } from '@wharf/errors';
import { httpRequest } from '@wharf/harness';
import { createInternalTokens, deriveKeys, type Identity, NO_TRACING, outgoingCall, type RpcDefinition, Secret } from '@wharf/service-kit';
import { createGrpcPeers } from '@wharf/service-kit/grpc';
import { PROVIDERS, type Provider } from '../support/contracts.ts';
import type { Expectation } from './expectations.ts';
import { differenceOf, fill, type Given } from './template.ts';
import type { BytesRequest } from './tour.ts';

/** What reads is asked again for so long: what another call began may take a moment. */
const SETTLES_WITHIN_MS = 10_000;
const ASK_AGAIN_MS = 200;

/** As the clients of the tour had. */
const CLIENT_ADDRESS = '127.0.0.1';

/** Where the services of a Wharf are that nobody has used. */
export interface Replayed {
  readonly secret: string;
  /** `host:port` of each. */
  readonly addresses: Readonly<Record<Provider, string>>;
  /** The data plane of fs. */
  readonly dataUrl: string;
  readonly given: Given;
}

/** Makes all calls again, in their order. @returns for each what is wrong with its answer; undefined: nothing */
export async function replay(
  expectations: readonly Expectation[],
  { secret, addresses, dataUrl, given }: Replayed,
): Promise<readonly (string | undefined)[]> {
  const tokens = createInternalTokens(deriveKeys(new Secret(secret)).internal, Date.now);
  const { peers, close } = createGrpcPeers(
    { authAddress: addresses.auth, adminAddress: addresses.admin, fsAddress: addresses.fs, downloaderAddress: addresses.downloader },
    { tracing: NO_TRACING, onBroken: undefined },
  );
  const revisions = { auth: 0, admin: 0 };
  const answers: unknown[] = [];
  const make = async ({
    provider,
    client,
    method,
    identity,
    request,
    answer: expected,
  }: Expectation): Promise<[answer: unknown, wrong: string | undefined]> => {
    const who = fill(identity, given, answers) as Identity;
    const from = who.kind === 'user' ? { address: CLIENT_ADDRESS } : {};
    const options = outgoingCall(tokens, { identity: who, requestId: 'replay', revisions: { ...revisions }, ...from });
    try {
      const filled = fill(request, given, answers);
      const call =
        client === 'bytes' ? sendBytes(dataUrl, filled as BytesRequest) : Reflect.get(Reflect.get(peers, client), method)(filled, options);
      const answer: unknown = Symbol.asyncIterator in call ? await Array.fromAsync(call) : await call;
      if (provider === 'auth' || provider === 'admin')
        revisions[provider] = Math.max(revisions[provider], Number(Object(answer).revision ?? 0));
      return [answer, 'ok' in expected ? differenceOf(expected.ok, answer) : `succeeded instead of ${expected.error}`];
    } catch (error) {
      const { code, message } = AppError.from(error);
      return [undefined, 'error' in expected && code === expected.error ? undefined : `failed with ${code} (${message})`];
    }
  };
  const wrong: (string | undefined)[] = [];
  try {
    for (const expectation of expectations) {
      const until = performance.now() + (isRead(expectation) ? SETTLES_WITHIN_MS : 0);
      let [answer, problem] = await make(expectation);
      while (problem !== undefined && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
        [answer, problem] = await make(expectation);
      }
      answers.push(answer);
      wrong.push(problem && `${expectation.client}.${expectation.method}: ${problem}`);
    }
  } finally {
    close();
  }
  return wrong;
}

async function sendBytes(dataUrl: string, { headers, body, ...request }: BytesRequest): Promise<unknown> {
  return (await httpRequest(dataUrl, { ...request, headers: { ...headers, 'content-length': body.length }, body })).json();
}

function isRead({ provider, client, method }: Expectation): boolean {
  const definition: RpcDefinition | undefined = Object.entries<RpcDefinition>(PROVIDERS[provider].contracts).find(
    ([name]) => name === client,
  )?.[1];
  return definition?.methods[method]?.options.idempotencyLevel === 'NO_SIDE_EFFECTS';
}
