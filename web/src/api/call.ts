import { createSignal } from 'solid-js';
import { recall, remember } from '../kept.ts';
import { ERROR_NAME } from './error-header.ts';
import { newOnceKey, ONCE_KEY } from './once-key.ts';
import { type ErrorName, type Operations, TRAVELS } from './operations.ts';

/** What the API said instead of an answer. */
export class ApiError extends Error {
  /** The envelope's code; 0: nobody answered. */
  readonly code: number;
  /** Undefined: nobody answered, or another server than ours. */
  readonly error: ErrorName | undefined;

  constructor(code: number, message: string, error?: ErrorName) {
    super(message);
    this.code = code;
    this.error = error;
  }
}

const TOKEN_KEY = 'wharf.token';
const [keptToken, setKept] = createSignal(recall(TOKEN_KEY) ?? '');

/** Whom the page is shown to, and by which login; both change at once. */
interface Viewer {
  /** Empty: a guest. */
  readonly token: string;
  /** Undefined: nobody, or nobody yet. */
  readonly user: Answer<'/api/me'> | undefined;
}
const [viewer, setViewer] = createSignal<Viewer>({ token: keptToken(), user: undefined });

/** `keptToken`: the login of this browser; empty: a guest. Until it is known whose it is the page stays the one of its `viewer`. */
export { keptToken, setViewer, viewer };

/** The login by which calls go. */
export const token = (): string => viewer().token;

/** One that is new is asked whose it is. One that has ended is used no more, and the page is nobody's from then on. */
function change(value: string): void {
  if (value === keptToken()) return;
  setKept(value);
  if (value === '') setViewer({ token: '', user: undefined });
}
// Another tab logged in or out.
addEventListener('storage', (event) => {
  if (event.key === TOKEN_KEY) change(event.newValue ?? '');
});

/** Keeps a login, or ends it with an empty text. */
export function keepToken(value: string): void {
  remember(TOKEN_KEY, value === '' ? null : value);
  change(value);
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
  login = token(),
): Promise<Answer<Path>> {
  const travels = TRAVELS[path] ?? 'body';
  const isAsked = travels === 'get' || travels === 'query';
  const query = isAsked ? `?${new URLSearchParams(input as Record<string, string>)}` : '';
  const headers: Record<string, string> = travels === 'header' ? { ...(input as Record<string, string>) } : {};
  if (travels === 'body') Object.assign(headers, { 'Content-Type': 'application/json', [ONCE_KEY]: newOnceKey() });
  if (login !== '') headers['Authorization'] = login;
  const response = await fetch(path + (query === '?' ? '' : query), {
    method: travels === 'get' ? 'GET' : 'POST',
    headers,
    body: travels === 'body' ? JSON.stringify(input) : null,
    signal,
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    return failOffline(error);
  });
  return openEnvelope(await response.json().catch(() => undefined), response.headers.get(ERROR_NAME)) as Answer<Path>;
}

/** For what `fetch` throws. @throws ApiError of code 0: nobody answered */
export function failOffline(error: unknown): never {
  throw new ApiError(0, String(error));
}

/** The data of an envelope. @param named what the header says. @throws ApiError what it says instead. */
export function openEnvelope(envelope: unknown, named: string | null): unknown {
  if (typeof envelope !== 'object' || envelope === null || !('code' in envelope)) throw new ApiError(0, 'no answer of the API');
  if (envelope.code !== 200)
    throw new ApiError(
      Number(envelope.code),
      'message' in envelope ? String(envelope.message) : '',
      (named ?? undefined) as ErrorName | undefined,
    );
  return 'data' in envelope ? envelope.data : null;
}
