import { AppError } from '@wharf/errors';
import type { Secret } from '../config/secret.ts';
import type { StoreConnection } from '../store.ts';
import { deriveKeys, unseal } from './keys.ts';

/** What to do where nobody has the secret any more. */
export const LOST_SECRET =
  'Where it is lost, `npm start -- --new-secret` goes on with another one: logins and links of before end, and passwords of storages and rules, secret ' +
  'settings and second factors are to be entered anew.';

/**
 * To be called once a store is prepared. With another secret than before nothing that is sealed in it could be read: Wharf would listen and answer
 * nobody, and what an administrator saved then would take the place of secrets that the right one opens. The permanent token, which the first start
 * seals, tells; a store without one is new.
 *
 * @param options.isLost whoever starts knows that the secret of before is lost: the store is this one's from now on
 * @throws AppError FAILED_PRECONDITION saying what to do
 */
export async function requireOwnSecret(store: StoreConnection, secret: Secret, { isLost = false } = {}): Promise<void> {
  const tokens = store.collection<{ _id: string; sealed: string }>('permanent_tokens');
  const token = await tokens.findOne({ _id: 'permanent' });
  if (!token) return;
  try {
    unseal(deriveKeys(secret).atRest, token.sealed);
  } catch (cause) {
    if (isLost) return void (await tokens.deleteOne({ _id: 'permanent', sealed: token.sealed }));
    throw new AppError(
      'FAILED_PRECONDITION',
      'the secret is not the one with which this store was written. Start with that one, as WHARF_SECRET or WHARF_SECRET_FILE give it, ' +
        `or as the file secret of the data folder or of its backup has it: all services of a store have the same. ${LOST_SECRET}`,
      { cause },
    );
  }
}
