import { isDuplicateKey, type Models, readPermanentToken } from '@wharf/models';

/** The one permanent token, as sealed text. */
interface PermanentTokenStore {
  find(): Promise<string | undefined>;
  /** Writes the token unless there is one. */
  insert(sealed: string): Promise<void>;
  replace(sealed: string): Promise<void>;
}

const ID = 'permanent';

export function createPermanentTokenStore(models: Models): PermanentTokenStore {
  const { permanentTokens } = models;
  return {
    find: () => readPermanentToken(models),
    async insert(sealed) {
      try {
        await permanentTokens.create({ _id: ID, sealed });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },
    async replace(sealed) {
      await permanentTokens.updateOne({ _id: ID }, { $set: { sealed } }, { upsert: true });
    },
  };
}
