import { z } from 'zod';
import { decorated, operationsOf } from '../src/driver-contract/complete-driver.ts';
import { type DriverDefinition, defineDriver } from '../src/driver-contract/define-driver.ts';
import type { Draft } from '../src/driver-contract/storage-driver.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { localDriver } from '../src/drivers/local/index.ts';

/** A driver of a folder of this machine whose drafts are not as they are there. @param change gets each draft that is opened */
export function changedDrafts(name: string, folder: () => string, change: (draft: Draft) => void): DriverDefinition {
  return defineDriver({
    name,
    label: name,
    configSchema: z.object({}),
    async open() {
      const driver = await localDriver.open(JSON.stringify({ root_folder_path: folder() }));
      return decorated({
        ...operationsOf(driver),
        async openDraft(path, id, options) {
          const draft = await driver.openDraft?.(path, id, options);
          if (!draft) throw storageError('UNSUPPORTED_OPERATION');
          change(draft);
          return draft;
        },
      });
    },
  });
}
