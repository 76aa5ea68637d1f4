import { AppError } from '@wharf/errors';
import type { CallStep } from '@wharf/proto/call';
import { type CallContext, type CallOptions, Metadata } from 'nice-grpc-common';
import type { Identity, InternalTokens, UserIdentity } from '../identity/identity.ts';
import { formatHops, parseHops } from './hops.ts';

/** The newest states of auth's and admin's data that the caller knows of; a cache older than that reloads before it answers. */
export interface Revisions {
  readonly auth: number;
  readonly admin: number;
}

/** What a handler knows of the call it serves. */
export interface Call {
  /** Who calls; undefined for a call without a token. */
  readonly identity: Identity | undefined;
  readonly requestId: string;
  readonly revisions: Revisions;
  /** The client's address as the gateway established it; absent where no client's request is behind the call. */
  readonly address?: string;
  /** What the client calls itself (`User-Agent`), at most 500 characters; absent where it does not, or no client's request is behind the call. */
  readonly agent?: string;
  /** Whether the client's request came by a trusted proxy; absent where it did not. Told with requests for bytes alone. */
  readonly isFromProxy?: true;
  /** Gateways that this one is a storage of, the first one first (rpc/hops.ts); absent where the client is none. */
  readonly hops?: readonly string[];
  /** What the client calls this request (`Idempotency-Key`), so that it is done once however often it is sent; absent where it does not. */
  readonly onceKey?: string;
  /** When it came, by the clock of the process, where it has waited for its turn since: who calls, and what they may, is of then. */
  readonly cameAtMs?: number;
  /** Aborted when the caller went away or the deadline passed. */
  readonly signal: AbortSignal;
}

/** Where a call carries the token that proves who calls. */
export const IDENTITY = 'wharf-identity';
const REQUEST_ID = 'wharf-request-id';
const AUTH_REVISION = 'wharf-auth-revision';
const ADMIN_REVISION = 'wharf-admin-revision';
const CLIENT_ADDRESS = 'wharf-client-address';
/** Percent-encoded: a header of the wire has ASCII alone. */
const CLIENT_AGENT = 'wharf-client-agent';
const HOPS = 'wharf-hops';
const ONCE_KEY = 'wharf-once-key';
type TextName =
  | typeof IDENTITY
  | typeof REQUEST_ID
  | typeof AUTH_REVISION
  | typeof ADMIN_REVISION
  | typeof CLIENT_ADDRESS
  | typeof CLIENT_AGENT
  | typeof HOPS
  | typeof ONCE_KEY;

/** A call before somebody serves it: without a signal it ends with its deadline only. */
type OutgoingCall = Omit<Call, 'signal'> & { readonly signal?: AbortSignal };

/** The key in call options that holds the call itself, for a service of this process. */
const CALL = Symbol('call');

/** What outgoingCall() answers. */
interface CarriedCall extends CallOptions {
  readonly [CALL]: StatedCall;
}

/** A call, and what proves that it is one of ours. */
export interface StatedCall {
  readonly tokens: InternalTokens;
  readonly call: OutgoingCall;
}

/** A signal for calls that nobody cancels. */
const NEVER_ABORTED = new AbortController().signal;

/** The call options that carry a call on to another service. What goes over the wire is written when somebody asks for it. */
export function outgoingCall(tokens: InternalTokens, call: OutgoingCall): CallOptions {
  const options: CarriedCall = {
    [CALL]: { tokens, call },
    get metadata() {
      return metadataOf(tokens, call);
    },
  };
  return call.signal ? Object.assign(options, { signal: call.signal }) : options;
}

function metadataOf(tokens: InternalTokens, call: OutgoingCall): Metadata {
  return Metadata(callToTexts(tokens, call));
}

/** What carries a call over the wire, by the names of metadata, which are those of headers. */
export function callToTexts(tokens: InternalTokens, call: OutgoingCall): Partial<Record<TextName, string>> {
  const texts: Partial<Record<TextName, string>> = {};
  if (call.identity) texts[IDENTITY] = tokens.mint(call.identity);
  texts[REQUEST_ID] = call.requestId;
  if (call.revisions.auth > 0) texts[AUTH_REVISION] = String(call.revisions.auth);
  if (call.revisions.admin > 0) texts[ADMIN_REVISION] = String(call.revisions.admin);
  if (call.address) texts[CLIENT_ADDRESS] = call.address;
  if (call.agent) texts[CLIENT_AGENT] = encodeURIComponent(call.agent);
  if (call.hops) texts[HOPS] = formatHops(call.hops);
  if (call.onceKey) texts[ONCE_KEY] = call.onceKey;
  return texts;
}

/**
 * The call behind the options of a client in this process. Options that were made with this process's own tokens object need no proof. All
 * others are checked as over the wire.
 *
 * @throws AppError UNAUTHENTICATED as incomingCall()
 */
export function directCall(tokens: InternalTokens, options: CallOptions & Partial<CarriedCall>): Call {
  const signal = options.signal ?? NEVER_ABORTED;
  const carried = options[CALL];
  if (carried?.tokens === tokens && carried.call.identity !== undefined) return { ...carried.call, signal };
  return incomingCall(tokens, { metadata: Metadata(options.metadata), signal });
}

/** The call behind options that outgoingCall() made; undefined for others. */
export function statedCall(options: CallOptions & Partial<CarriedCall>): StatedCall | undefined {
  return options[CALL];
}

type StepFields = Pick<
  CallStep,
  'identity' | 'request_id' | 'auth_revision' | 'admin_revision' | 'client_address' | 'client_agent' | 'hops' | 'once_key'
>;

/** The fields of a step that carry a call on a shared stream: what the metadata carry over a stream of its own. */
export function callToStep({ tokens, call }: StatedCall): StepFields {
  const { identity, requestId, revisions, address = '', agent = '', hops = [], onceKey = '' } = call;
  return {
    identity: identity ? tokens.mint(identity) : '',
    request_id: requestId,
    auth_revision: revisions.auth,
    admin_revision: revisions.admin,
    client_address: address,
    client_agent: agent,
    hops: [...hops],
    once_key: onceKey,
  };
}

/** Reads what callToStep() wrote. @throws AppError UNAUTHENTICATED: it has no valid proof */
export function callFromStep(tokens: InternalTokens, step: StepFields, signal: AbortSignal): Call {
  const { identity, request_id, auth_revision, admin_revision, client_address, client_agent, hops, once_key } = step;
  return {
    identity: tokens.verify(identity),
    requestId: request_id,
    revisions: { auth: auth_revision, admin: admin_revision },
    ...(client_address === '' ? {} : { address: client_address }),
    ...(client_agent === '' ? {} : { agent: client_agent }),
    ...(hops.length === 0 ? {} : { hops }),
    ...(once_key === '' ? {} : { onceKey: once_key }),
    signal,
  };
}

/**
 * Reads what outgoingCall() wrote. Only the identity token proves that one of our own processes calls; without it nothing else is believed.
 *
 * @throws AppError UNAUTHENTICATED: there is an identity token and it is not valid.
 */
export function incomingCall(tokens: InternalTokens, { metadata, signal }: Pick<CallContext, 'metadata' | 'signal'>): Call {
  return callFromTexts(tokens, (name) => metadata.get(name), signal);
}

/** The same of what callToTexts() made. @param text answers what is under a name */
export function callFromTexts(tokens: InternalTokens, text: (name: TextName) => string | undefined, signal: AbortSignal): Call {
  const requestId = text(REQUEST_ID) ?? '';
  const token = text(IDENTITY);
  if (token === undefined) return { identity: undefined, requestId, revisions: { auth: 0, admin: 0 }, signal };
  const address = text(CLIENT_ADDRESS);
  const agent = text(CLIENT_AGENT);
  const hops = parseHops(text(HOPS));
  const onceKey = text(ONCE_KEY);
  return {
    identity: tokens.verify(token),
    requestId,
    revisions: { auth: revision(text(AUTH_REVISION)), admin: revision(text(ADMIN_REVISION)) },
    ...(address === undefined ? {} : { address }),
    ...(agent === undefined ? {} : { agent: decoded(agent) }),
    ...(hops.length === 0 ? {} : { hops }),
    ...(onceKey === undefined ? {} : { onceKey }),
    signal,
  };
}

/** Empty for what we did not write. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

function revision(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** The person who calls. @throws AppError UNAUTHENTICATED: nobody, or a service. */
export function userOf(call: Call): UserIdentity {
  if (call.identity?.kind !== 'user') throw new AppError('UNAUTHENTICATED', 'this call needs a user');
  return call.identity;
}
