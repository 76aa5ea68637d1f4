import { AppError } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import { z } from 'zod';
import type { ToolAddress } from '../../domain/tool-address.ts';
import type { AskTool, ToolRequest } from '../ask-tool.ts';

type CallOptions = Pick<ToolRequest, 'timeoutMs' | 'signal'>;

/** The RPC interface of Transmission (its rpc-spec.md). */
export interface TransmissionClient {
  /**
   * Calls a method and answers its arguments.
   *
   * @throws AppError STORAGE_LOGIN_FAILED | UNSUPPORTED_OPERATION: what answers is not Transmission | FAILED_PRECONDITION: it refused the
   * call | and what AskTool throws
   */
  call(method: string, params?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Record<string, unknown>>;
  /** Such as `3.00 (bb6b5a062e)`. @throws AppError as call; UNSUPPORTED_OPERATION also for a version that is too old or too new */
  version(options?: CallOptions): Promise<string>;
}

const SESSION_ID = 'x-transmission-session-id';
/** Versions of the RPC that are spoken here: Transmission 2.80 on, as long as it takes what 4.0 takes. */
const OLDEST_RPC = 15;
const NEWEST_RPC = 17;

/** Looked at no further here: of a record of a hundred thousand names a copy takes longer than to parse it. */
const argumentsShape = z.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
const answerShape = z.object({ result: z.string(), arguments: argumentsShape.default({}) });
const versionShape = z.object({ version: z.string().max(64), 'rpc-version': z.number(), 'rpc-version-minimum': z.number() });

export function createTransmissionClient(ask: AskTool, { url, username, password }: ToolAddress): TransmissionClient {
  const authorization: Record<string, string> =
    username === '' && password === '' ? {} : { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  let sessionId = '';

  const send = (body: string, options: CallOptions) =>
    ask(url, {
      ...options,
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...authorization,
        ...(sessionId === '' ? {} : { 'X-Transmission-Session-Id': sessionId }),
      },
      body,
    });

  const client: TransmissionClient = {
    async call(method, params = {}, options = {}) {
      const body = JSON.stringify({ method, arguments: params });
      let answer = await send(body, options);
      const fresh = answer.headers[SESSION_ID];
      // The session id comes with a refusal, at first and whenever it has changed.
      if (answer.status === 409 && typeof fresh === 'string') {
        sessionId = fresh;
        answer = await send(body, options);
      }
      if (answer.status === 401)
        throw new AppError(
          'STORAGE_LOGIN_FAILED',
          username === '' ? 'it asks for a user and a password' : 'the user or the password is wrong',
        );
      if (answer.status === 403) throw new AppError('STORAGE_LOGIN_FAILED', 'it does not let us in: its rpc-whitelist has not our address');
      if (answer.status === 421) throw new AppError('STORAGE_LOGIN_FAILED', 'its rpc-host-whitelist has not this host name');
      const parsed = answerShape.safeParse(answer.status === 200 ? parseJson(answer.body) : undefined);
      if (!parsed.success) throw notTransmission();
      if (parsed.data.result !== 'success')
        throw new AppError('FAILED_PRECONDITION', `Transmission refused ${method}: ${parsed.data.result.slice(0, 200)}`);
      return parsed.data.arguments;
    },
    async version(options) {
      const answer = await client.call('session-get', { fields: ['version', 'rpc-version', 'rpc-version-minimum'] }, options);
      const parsed = versionShape.safeParse(answer);
      if (!parsed.success) throw notTransmission();
      const { version, 'rpc-version': rpc, 'rpc-version-minimum': minimum } = parsed.data;
      if (rpc < OLDEST_RPC) throw new AppError('UNSUPPORTED_OPERATION', `Transmission ${version} is too old; 2.80 or later is needed`);
      if (minimum > NEWEST_RPC) throw new AppError('UNSUPPORTED_OPERATION', `Transmission ${version} is too new`);
      return version;
    },
  };
  return client;
}

function notTransmission(): AppError {
  return new AppError('UNSUPPORTED_OPERATION', 'what answers there is not the RPC interface of Transmission');
}
