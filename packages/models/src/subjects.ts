import { z } from 'zod';

/** Accounts, sessions or the permanent token changed. Published by auth. `sessionId`: that session ended, and nothing else changed. */
export const accountsChanged = {
  name: 'wharf.auth.accounts-changed.v1',
  schema: z.object({ revision: z.number(), sessionId: z.string().optional() }),
};

/** Storages, settings or rules changed. Published by admin. `storageId` names the storage, when it was one. */
export const configurationChanged = {
  name: 'wharf.admin.configuration-changed.v1',
  schema: z.object({ revision: z.number(), storageId: z.number().optional() }),
};

/** Paths of one event; where more changed, everything counts as changed. */
export const MAX_CHANGED_PATHS = 500;

/** Entries of a folder changed through some replica. Published by fs; paths are of the whole tree. */
export const entryChanged = {
  name: 'wharf.fs.entry-changed.v1',
  schema: z.object({ replica: z.string(), paths: z.array(z.string()).max(MAX_CHANGED_PATHS) }),
};
