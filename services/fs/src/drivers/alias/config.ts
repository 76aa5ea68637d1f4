import { z } from 'zod';
import { boolItem, numberItem, selectItem, textItem } from '../../driver-contract/config-items.ts';
import { type NamedFolders, parseNamedFolders } from '../../driver-contract/named-folders.ts';

const READ_POLICIES = ['first', 'random', 'all'] as const;
const WRITE_POLICIES = ['disabled', 'first', 'deterministic', 'deterministic_or_all', 'all', 'all_strict'] as const;
const PUT_POLICIES = [...WRITE_POLICIES, 'random', 'quota', 'quota_strict'] as const;

/** Which of several that have a file is read. */
export type ReadPolicy = (typeof READ_POLICIES)[number];
/** Which of several takes a change. */
export type ChangePolicy = (typeof PUT_POLICIES)[number];

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const aliasConfigSchema = z.object({
  paths: textItem({
    required: true,
    help: 'One folder of the tree a line: /path or name:/path. Lines of one name are shown as one folder; a single name is the root.',
  }),
  read_conflict_policy: selectItem(READ_POLICIES, { default: 'first', help: 'Which of several folders that have a file is read.' }),
  write_conflict_policy: selectItem(WRITE_POLICIES, {
    default: 'disabled',
    help: 'Which of them are renamed, removed and made folders in.',
  }),
  put_conflict_policy: selectItem(PUT_POLICIES, { default: 'disabled', help: 'Which of them take uploads and copies.' }),
  file_consistency_check: boolItem({ default: false, help: 'Files count as the same when a hash of theirs is, not by their size alone.' }),
  download_concurrency: numberItem({ default: 0, help: 'Kept for other programs.' }),
  download_part_size: numberItem({ default: 0, help: 'Kept for other programs.' }),
  provider_pass_through: boolItem({ default: false, help: 'Kept for other programs.' }),
  details_pass_through: boolItem({ default: false, help: 'Shows the space of the folders, added up.' }),
});

/** What a storage is opened with, checked. */
export interface AliasSettings {
  readonly folders: readonly NamedFolders[];
  readonly read: ReadPolicy;
  readonly write: ChangePolicy;
  readonly put: ChangePolicy;
  readonly comparesHashes: boolean;
  readonly tellsSpace: boolean;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function aliasSettings(config: z.output<typeof aliasConfigSchema>): AliasSettings {
  return {
    folders: parseNamedFolders('paths', config.paths),
    read: config.read_conflict_policy || 'first',
    write: config.write_conflict_policy || 'disabled',
    put: config.put_conflict_policy || 'disabled',
    comparesHashes: config.file_consistency_check,
    tellsSpace: config.details_pass_through,
  };
}
