import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import type { Identity } from '../identity/identity.ts';
import type { Call } from './call.ts';
import { withHops } from './hops.ts';
import { hasLongText, takeLongTurn } from './long-texts.ts';

/** What ts-proto generates for a message, as far as it is used here. */
export interface MessageType {
  // Parameters are contravariant: `never` takes every generated `fromPartial`.
  fromPartial(object: never): unknown;
  encode(message: never, writer?: BinaryWriter): { finish(): Uint8Array<ArrayBuffer> };
  decode(bytes: Uint8Array): unknown;
}

export interface MethodDefinition {
  readonly name: string;
  readonly requestType: MessageType;
  readonly requestStream: boolean;
  readonly responseType: MessageType;
  readonly responseStream: boolean;
  readonly options: { readonly idempotencyLevel?: string };
}

export interface RpcDefinition {
  readonly name: string;
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

type RequestOf<Method extends MethodDefinition> = ReturnType<Method['requestType']['fromPartial']>;
type AnswerOf<Method extends MethodDefinition> = Parameters<Method['responseType']['fromPartial']>[0];

/** A handler: a plain function of the request and the call. */
export type Handler<Method extends MethodDefinition> = Method['responseStream'] extends true
  ? (request: RequestOf<Method>, call: Call) => AsyncIterable<AnswerOf<Method>>
  : (request: RequestOf<Method>, call: Call) => Promise<AnswerOf<Method>>;

const GUARDED = Symbol('guarded');

/** A handler behind a check of who calls. Made only by the four functions below, so that no RPC can forget its check. */
export interface Guarded<Handle> {
  readonly [GUARDED]: (call: Call) => void;
  readonly handle: Handle;
}

const guarded =
  (check: (identity: Identity) => void) =>
  <Handle>(handle: Handle): Guarded<Handle> => ({
    [GUARDED]({ identity }) {
      if (identity === undefined) throw new AppError('UNAUTHENTICATED', 'this call needs an identity');
      check(identity);
    },
    handle,
  });

/** Any user may call, and any of our services. */
export const forAnyone = guarded(() => {});
/** A user may call, the guest included; what the user may do is for the handler. */
export const forUsers = guarded(({ kind }) => {
  if (kind !== 'user') throw new AppError('UNAUTHENTICATED', 'this call needs a user');
});
/** Only the admin, or one of our services, may call. */
export const forAdmins = guarded((identity) => {
  if (identity.kind === 'user' && identity.role !== ROLE.admin) throw new AppError('PERMISSION_DENIED', 'You are not an admin');
});
/** Only our own services may call. */
export const forServices = guarded(({ kind }) => {
  if (kind !== 'service') throw new AppError('PERMISSION_DENIED', 'this call is for services');
});

export type RpcMethods<Definition extends RpcDefinition> = {
  readonly [Name in keyof Definition['methods']]: Guarded<Handler<Definition['methods'][Name]>>;
};

/** A service's definition with a handler for each of its methods. */
export interface RpcService<Definition extends RpcDefinition = RpcDefinition> {
  readonly definition: Definition;
  readonly methods: Readonly<Record<string, Guarded<(request: never, call: Call) => unknown>>>;
}

export function defineRpcService<Definition extends RpcDefinition>(
  definition: Definition,
  methods: RpcMethods<Definition>,
): RpcService<Definition> {
  // Each handler keeps its own request type; the map only forgets which is which.
  return { definition, methods: methods as unknown as RpcService['methods'] };
}

/** Runs a method of a service after its guard. The answer is a promise, or an async iterable for a stream. */
export function invoke(service: RpcService, method: string, request: unknown, call: Call): unknown {
  const target = service.methods[method];
  if (!target) throw new AppError('UNSUPPORTED_OPERATION', `${service.definition.fullName} has no method ${method}`);
  target[GUARDED](call);
  const handle = (inTurn: Call) => target.handle(request as never, inTurn);
  const start = () => {
    if (!hasLongText(Object.values(request as object))) return handle(call);
    const turn = takeLongTurn(call);
    return service.definition.methods[method]?.responseStream
      ? messagesAfter(turn, handle as (inTurn: Call) => AsyncIterable<unknown>)
      : turn.then(handle);
  };
  return call.hops ? withHops(call.hops, start) : start();
}

async function* messagesAfter(turn: Promise<Call>, handle: (inTurn: Call) => AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
  yield* handle(await turn);
}

/** For a method of the contract that this version does not offer. */
export const notImplemented = async (): Promise<never> => {
  throw new AppError('UNSUPPORTED_OPERATION', 'not implement');
};
