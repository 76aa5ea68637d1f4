import { AppError } from '@wharf/errors';
import type { Secret } from '../config/secret.ts';
import type { StoreConnection } from '../store.ts';
import { deriveKeys, unseal } from './keys.ts';

/**
 * To be called once a store is prepared. With another secret than before nothing that is sealed in it could be read: Wharf would listen and answer
 * nobody, and what an administrator saved then would take the place of secrets that the right one opens. The permanent token, which the first start
 * seals, tells; a store without one is new.
 *
 * @throws AppError FAILED_PRECONDITION saying what to do
 */
export async function requireOwnSecret(store: StoreConnection, secret: Secret): Promise<void> {
  const token = await store.collection<{ _id: string; sealed: string }>('permanent_tokens').findOne({ _id: 'permanent' });
  if (!token) return;
  try {
    unseal(deriveKeys(secret).atRest, token.sealed);
  } catch (cause) {
    throw new AppError(
      'FAILED_PRECONDITION',
      'the secret is not the one with which this store was written. Start with that one, as WHARF_SECRET or WHARF_SECRET_FILE give it, ' +
        'or as the file secret of the data folder or of its backup has it: all services of a store have the same.',
      { cause },
    );
  }
}
