import {
  Metadata as GrpcMetadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { AppError } from '@wharf/errors';
import { Metadata } from 'nice-grpc-common';
import type { InternalTokens } from '../identity/identity.ts';
import { IDENTITY } from './call.ts';
import { toGrpcError } from './errors.ts';
import { HealthDefinition } from './health.ts';

type Listener = Parameters<ServerInterceptingCall['start']>[0];

const HEALTH_PATH = `/${HealthDefinition.fullName}/`;

/**
 * Lets a call in when its headers prove that it comes from one of our own processes. No message of any other call is read or decoded. The
 * health service answers everybody, and does not read the message either.
 */
export function proveCallers(tokens: InternalTokens): ServerInterceptor {
  return ({ path }, call) => (path.startsWith(HEALTH_PATH) ? new UnreadCall(call) : provenCall(tokens, call));
}

function provenCall(tokens: InternalTokens, call: ServerInterceptingCallInterface): ServerInterceptingCall {
  return new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMetadata(metadata, proceed) {
          try {
            tokens.verify(String(metadata.get(IDENTITY)[0] ?? ''));
          } catch (error) {
            return refuse(call, AppError.from(error));
          }
          proceed(metadata);
        },
      }),
  });
}

function refuse(call: ServerInterceptingCallInterface, error: AppError): void {
  const trailer = Metadata();
  const { code, details } = toGrpcError(error, { trailer });
  const metadata = new GrpcMetadata();
  for (const [name, values] of trailer) for (const value of values) metadata.add(name, Buffer.isBuffer(value) ? value : String(value));
  call.sendStatus({ code, details, metadata });
}

/** A call whose message is taken to be empty. */
class UnreadCall extends ServerInterceptingCall {
  #listener: Listener | undefined;
  #isAsked = false;

  override start(listener: Listener): void {
    this.#listener = listener;
    super.start(listener);
  }

  override startRead(): void {
    const isFirst = !this.#isAsked;
    this.#isAsked = true;
    if (isFirst) this.#listener?.onReceiveMessage({});
    else this.#listener?.onReceiveHalfClose();
  }
}
