import { type Answer, ApiError, call, keepToken, token } from './api/call.ts';

/** Whose a login is; undefined: it has ended, and this browser forgets it, unless it has another one by then: somebody logged in meanwhile, perhaps in another tab. */
export async function whoIs(login: string): Promise<Answer<'/api/me'> | undefined> {
  try {
    return await call('/api/me', {});
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 401)) throw error;
    if (token() === login) keepToken('');
    return undefined;
  }
}
