import { createSignal } from 'solid-js';
import { type Operations, TRAVELS } from './operations.ts';

/** What the API said instead of an answer. */
export class ApiError extends Error {
  /** The envelope's code; 0: nobody answered. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const TOKEN_KEY = 'wharf.token';
const [token, setToken] = createSignal(localStorage.getItem(TOKEN_KEY) ?? '');
// Another tab logged in or out.
addEventListener('storage', (event) => {
  if (event.key === TOKEN_KEY) setToken(event.newValue ?? '');
});

/** The login of this browser; empty: a guest. */
export { token };

/** Keeps a login, or ends it with an empty text. */
export function keepToken(value: string): void {
  if (value === '') localStorage.removeItem(TOKEN_KEY);
  else localStorage.setItem(TOKEN_KEY, value);
  setToken(value);
}

export type Answer<Path extends keyof Operations> = Operations[Path]['answer'];

/**
 * One call of the API.
 *
 * @throws ApiError what the envelope says, or code 0 where nobody answered; what the signal was aborted with.
 */
export async function call<Path extends keyof Operations>(
  path: Path,
  input: Operations[Path]['input'],
  signal: AbortSignal | null = null,
): Promise<Answer<Path>> {
  const travels = TRAVELS[path] ?? 'body';
  const query = travels === 'body' ? '' : `?${new URLSearchParams(input as Record<string, string>)}`;
  const headers: Record<string, string> = travels === 'body' ? { 'Content-Type': 'application/json' } : {};
  if (token() !== '') headers['Authorization'] = token();
  const response = await fetch(path + (query === '?' ? '' : query), {
    method: travels === 'get' ? 'GET' : 'POST',
    headers,
    body: travels === 'body' ? JSON.stringify(input) : null,
    signal,
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw new ApiError(0, String(error));
  });
  return openEnvelope(await response.json().catch(() => undefined)) as Answer<Path>;
}

/** The data of an envelope. @throws ApiError what it says instead. */
export function openEnvelope(envelope: unknown): unknown {
  if (typeof envelope !== 'object' || envelope === null || !('code' in envelope)) throw new ApiError(0, 'no answer of the API');
  if (envelope.code !== 200) throw new ApiError(Number(envelope.code), 'message' in envelope ? String(envelope.message) : '');
  return 'data' in envelope ? envelope.data : null;
}
