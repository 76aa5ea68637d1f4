import { ApiError, call, keepToken, keptToken, setViewer } from './api/call.ts';

/**
 * Asks whose a login is, and shows the page to them. One that has ended is forgotten. Neither happens where this browser has another login by then:
 * somebody logged in or out meanwhile, perhaps in another tab.
 *
 * @throws ApiError nobody could tell: the page stays whose it was
 */
export async function whoIs(login: string): Promise<void> {
  const user = await call('/api/me', {}, null, login).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 401) return undefined;
    throw error;
  });
  if (keptToken() !== login) return;
  if (user === undefined) keepToken('');
  setViewer({ token: user === undefined ? '' : login, user });
}
