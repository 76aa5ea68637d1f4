import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { numberItem, stringItem } from '../../driver-contract/config-items.ts';

const MAX_ENTRIES = 100_000;

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const virtualConfigSchema = z.object({
  root_folder_path: stringItem({ help: 'Kept for other programs.' }),
  num_file: numberItem({ default: 30, required: true, help: `Files in each folder, ${MAX_ENTRIES} at most.` }),
  num_folder: numberItem({ default: 30, required: true, help: `Folders in each folder, ${MAX_ENTRIES} at most.` }),
  max_file_size: numberItem({ default: 1024 ** 3, required: true, help: 'Bytes of the largest file.' }),
  min_file_size: numberItem({ default: 1024 ** 2, required: true, help: 'Bytes of the smallest file.' }),
});

/** What a storage is opened with, checked. */
export interface VirtualSettings {
  readonly files: number;
  readonly folders: number;
  readonly minBytes: number;
  readonly maxBytes: number;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function virtualSettings(config: z.output<typeof virtualConfigSchema>): VirtualSettings {
  const count = (item: 'num_file' | 'num_folder' | 'max_file_size' | 'min_file_size', max: number) => {
    const value = config[item];
    if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
    throw new AppError('INVALID_ARGUMENT', `${item} is a whole number from 0 to ${max}`);
  };
  const maxBytes = count('max_file_size', Number.MAX_SAFE_INTEGER);
  const minBytes = count('min_file_size', Number.MAX_SAFE_INTEGER);
  if (minBytes > maxBytes) throw new AppError('INVALID_ARGUMENT', 'min_file_size is larger than max_file_size');
  return { files: count('num_file', MAX_ENTRIES), folders: count('num_folder', MAX_ENTRIES), minBytes, maxBytes };
}
