import { type Answer, ApiError, call, keepToken, keptToken, setToken } from './api/call.ts';

/**
 * Whose a login is; undefined: it has ended, and this browser forgets it, unless it has another one by then: somebody logged in meanwhile, perhaps in
 * another tab. Once that is known calls go by it, and no sooner: what is under way is of whom the page is shown to.
 */
export async function whoIs(login: string): Promise<Answer<'/api/me'> | undefined> {
  try {
    const found = await call('/api/me', {}, null, login);
    if (keptToken() === login) setToken(login);
    return found;
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 401)) throw error;
    if (keptToken() === login) keepToken('');
    return undefined;
  }
}
