import { createResource } from 'solid-js';
import { call, keepToken, keptToken, viewer } from './api/call.ts';
import { whoIs } from './who-is.ts';

/** Values of the bits of `permission`, by the names that the API has for them. */
const BITS = { seeHides: 0, withoutPassword: 1, offlineDownload: 2, write: 3, rename: 4, move: 5, copy: 6, delete: 7 } as const;

const GUEST_ROLE = 1;
const ADMIN_ROLE = 2;

const [asked, { refetch: readMe }] = createResource(keptToken, whoIs);
/** Who uses the page; undefined: nobody yet, a login is needed. A look that fails leaves it what it was. */
const me = {
  get latest() {
    return viewer().user;
  },
  get state() {
    return asked.state;
  },
  get error(): unknown {
    return asked.error;
  },
};
const [settings] = createResource(() => call('/api/public/settings', {}).catch((): Record<string, string> => ({})));

export { me, readMe, settings };

export const isGuest = () => me.latest?.role === GUEST_ROLE;
export const isAdmin = () => me.latest?.role === ADMIN_ROLE;

/** Whether the viewer has a permission bit. What a path rule grants or takes beyond it, the listing tells. */
export function may(what: keyof typeof BITS): boolean {
  return ((me.latest?.permission ?? 0) & (1 << BITS[what])) !== 0;
}

/** @throws ApiError 401 wrong, 402 the second step is missing or wrong, 429 too many tries */
export async function login(username: string, password: string, code: string): Promise<void> {
  const { token: made } = await call('/api/auth/login', { username, password, otp_code: code });
  keepToken(made);
}

/** Ends here at once, whatever becomes of it at the server. */
export function logout(): void {
  void call('/api/auth/logout', {}).catch(() => undefined);
  keepToken('');
}
