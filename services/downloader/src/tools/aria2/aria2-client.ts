import { AppError } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import { z } from 'zod';
import type { ToolAddress } from '../../domain/tool-address.ts';
import type { AskTool } from '../ask-tool.ts';

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The JSON-RPC interface of aria2 (its manual, section "RPC interface"). */
export interface Aria2Client {
  /**
   * Calls a method; the secret is put before `params`.
   *
   * @throws AppError STORAGE_LOGIN_FAILED: the secret is wrong | FAILED_PRECONDITION with `details.toolCode`: aria2 refused the call |
   * UNSUPPORTED_OPERATION: what answers is not aria2 | and what AskTool throws
   */
  call(method: string, params?: readonly unknown[], options?: CallOptions): Promise<unknown>;
  /** @throws AppError as call; UNSUPPORTED_OPERATION also for a version that is too old */
  version(options?: CallOptions): Promise<string>;
}

/** The first version whose answers and errors are those that are relied on. */
const MINIMUM = [1, 18] as const;
/** aria2 says so for a wrong secret, under the code it has for everything. */
const UNAUTHORIZED = 'Unauthorized';

const answerShape = z.union([
  z.object({ result: z.unknown(), error: z.undefined().optional() }).refine((answer) => 'result' in answer),
  z.object({ error: z.object({ code: z.number(), message: z.string() }) }),
]);
const versionShape = z.object({ version: z.string().max(64) });

export function createAria2Client(ask: AskTool, { url, username, password }: ToolAddress, secret: string): Aria2Client {
  const authorization: Record<string, string> =
    username === '' && password === '' ? {} : { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };

  const client: Aria2Client = {
    async call(method, params = [], options = {}) {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 'wharf',
        method,
        params: [...(secret === '' ? [] : [`token:${secret}`]), ...params],
      });
      const answer = await ask(url, {
        ...options,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...authorization },
        body,
      });
      if (answer.status === 401) throw new AppError('STORAGE_LOGIN_FAILED', 'it asks for a user and a password');
      const parsed = answerShape.safeParse(parseJson(answer.body));
      if (!parsed.success) throw notAria2();
      if (!parsed.data.error) return parsed.data.result;
      const { code, message } = parsed.data.error;
      if (message === UNAUTHORIZED)
        throw new AppError('STORAGE_LOGIN_FAILED', secret === '' ? 'it asks for a secret' : 'the secret is wrong');
      throw new AppError('FAILED_PRECONDITION', `aria2 refused ${method}: ${message.slice(0, 200)}`, { details: { toolCode: code } });
    },
    async version(options) {
      const answer = await client.call('aria2.getVersion', [], options).catch((error) => {
        // Another JSON-RPC server does not know the method.
        throw AppError.is(error, 'FAILED_PRECONDITION') ? notAria2() : error;
      });
      const parsed = versionShape.safeParse(answer);
      const [, major, minor] = /^(\d+)\.(\d+)/.exec(parsed.data?.version ?? '') ?? [];
      if (!parsed.success || major === undefined) throw notAria2();
      if (Number(major) < MINIMUM[0] || (Number(major) === MINIMUM[0] && Number(minor) < MINIMUM[1]))
        throw new AppError('UNSUPPORTED_OPERATION', `aria2 ${parsed.data.version} is too old; ${MINIMUM.join('.')} or later is needed`);
      return parsed.data.version;
    },
  };
  return client;
}

function notAria2(): AppError {
  return new AppError('UNSUPPORTED_OPERATION', 'what answers there is not the JSON-RPC interface of aria2');
}
