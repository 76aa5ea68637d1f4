import { AppError, type ErrorCode } from '@wharf/errors';
import type { Settings } from '@wharf/models';
import type { PermissionName } from '@wharf/rights';
import type { Caller, EnvelopeCodes, Peers } from '@wharf/service-kit';
import { z } from 'zod';
import { createInputDecoder, type RawInput } from './decode-input.ts';

/** Who may call: anybody, even with a bad token; any user and the enabled guest; anybody but the guest; the admin. */
export type Access = 'public' | 'guest' | 'user' | 'admin';
export type Method = 'GET' | 'POST' | 'PUT';
/** Options of a call to a peer. */
type CallOptions = NonNullable<Parameters<Peers['auth']['login']>[1]>;

/** What a route's call may use. */
export interface PublicContext {
  /** The other services; revisions in their answers are noted. */
  readonly peers: Peers;
  /** Carries the caller, the request id and the known revisions to a peer; the call ends when the client goes away. */
  readonly options: CallOptions;
  /** The client's address. */
  readonly address: string;
  /** What the client calls itself; empty when it does not say. */
  readonly userAgent: string;
  /** What absolute addresses in the answer begin with. */
  readonly siteUrl: string;
  readonly settings: () => Promise<Settings>;
  /** Called with the length of the answer so far, in bytes, for answers that may become long. @throws AppError OVERLOADED */
  readonly hold: (length: number) => void;
  /** Options for a call on the gateway's own account: for RPCs that believe nobody else, such as a login from the client's address. */
  readonly ownCall: () => CallOptions;
}

export interface CallerContext extends PublicContext {
  readonly caller: Caller;
}

/** The context of a call before its caller is established. */
export type AnyContext = PublicContext & { readonly caller: Caller | undefined };

/** An answer whose message is a sentence of its own instead of `success`. */
export class AnswerWithMessage<Data> {
  readonly message: string;
  readonly data: Data;

  constructor(message: string, data: Data) {
    this.message = message;
    this.data = data;
  }
}

/** A part of a text; bytes are its UTF-8. */
export type JsonPiece = string | Uint8Array;

/** An answer that is JSON text already, in pieces. So a large answer is not parsed and written again. */
export class AnswerAsJson {
  readonly pieces: readonly JsonPiece[];

  constructor(pieces: readonly JsonPiece[]) {
    this.pieces = pieces;
  }
}

type Result<Answer extends z.ZodType> = Promise<z.output<Answer> | AnswerWithMessage<z.output<Answer>> | AnswerAsJson>;

interface RouteDeclaration<Input extends z.ZodType, Answer extends z.ZodType> {
  readonly methods: readonly Method[] | 'any';
  readonly path: `/api/${string}`;
  /** One sentence for the OpenAPI document. */
  readonly summary: string;
  /** The permission bit that a user needs, unless the user is the admin. */
  readonly permission?: PermissionName;
  /** The route only reads. While the store does not answer, a kept copy of the caller's account is enough. */
  readonly isReading?: true;
  /** Where the input is declared to come from, for methods other than GET. Ids and the like of `query` are taken from a body too. */
  readonly takes: 'body' | 'query';
  readonly input: Input;
  /** The shape of `data`. */
  readonly answer: Answer;
  /** Envelope codes of this route where they differ from those of the error table. */
  readonly codes?: EnvelopeCodes;
  /** The `data` of a failed call or a refused input, and its shape. Absent: null. A caller who may not call the route always gets null. */
  readonly failureData?: { readonly shape: z.ZodType; readonly of: (error: AppError) => unknown };
  /** The sentence about any input that cannot be used, in the place of a sentence about the field. */
  readonly refusal?: string;
}

/** A route of the table. Its types have done their work; what is left runs it and describes it. */
export interface Route extends Omit<RouteDeclaration<z.ZodType, z.ZodType>, 'answer'> {
  readonly access: Access;
  readonly answer: z.ZodType;
  /** Reads the input and answers the call that is bound to it. @throws AppError INVALID_ARGUMENT */
  prepare(raw: RawInput): (context: AnyContext) => Promise<unknown>;
}

/** Declares a route for callers. */
export function route<Input extends z.ZodType, Answer extends z.ZodType>(
  declaration: RouteDeclaration<Input, Answer> & {
    readonly access: Exclude<Access, 'public'>;
    readonly call: (context: CallerContext, input: z.output<Input>) => Result<Answer>;
  },
): Route {
  const { call, ...rest } = declaration;
  const decode = createInputDecoder(rest.input, { isBodyOnly: rest.takes === 'body', refusal: rest.refusal });
  return {
    ...rest,
    prepare(raw) {
      const input = decode(raw);
      return async (context) => {
        if (!hasCaller(context)) throw new AppError('UNAUTHENTICATED', 'this call needs a user');
        return call(context, input);
      };
    },
  };
}

/** Declares a route that answers anybody and never looks at a token. */
export function publicRoute<Input extends z.ZodType, Answer extends z.ZodType>(
  declaration: RouteDeclaration<Input, Answer> & {
    readonly call: (context: PublicContext, input: z.output<Input>) => Result<Answer>;
  },
): Route {
  const { call, ...rest } = declaration;
  const decode = createInputDecoder(rest.input, { isBodyOnly: rest.takes === 'body', refusal: rest.refusal });
  return {
    ...rest,
    access: 'public',
    prepare(raw) {
      const input = decode(raw);
      return (context) => call(context, input);
    },
  };
}

/** Declares a route of a feature that is left out; it says so in the words that existing clients stay quiet on. */
export function absentRoute(
  declaration: Pick<Route, 'methods' | 'path' | 'access'> & { readonly message: string; readonly envelopeCode: number },
): Route {
  const { methods, path, access, message, envelopeCode } = declaration;
  const refusedAs: ErrorCode = 'UNSUPPORTED_OPERATION';
  return {
    methods,
    path,
    access,
    summary: `Left out: answers ${envelopeCode} "${message}".`,
    takes: 'query',
    input: nothing,
    answer: z.null(),
    codes: { [refusedAs]: envelopeCode },
    prepare: () => () => Promise.reject(new AppError(refusedAs, message)),
  };
}

/** The input of a route that takes none. */
export const nothing = z.object({});

const hasCaller = (context: AnyContext): context is CallerContext => context.caller !== undefined;
