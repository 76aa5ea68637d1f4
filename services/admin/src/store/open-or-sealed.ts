import { unseal } from '@wharf/service-kit';

/** The text that was sealed; what cannot be opened is as it is stored. Whoever is to mend or delete it has to see it, and all others beside it. */
export function openOrSealed(key: Buffer, stored: string): string {
  try {
    return unseal(key, stored);
  } catch {
    return stored;
  }
}
