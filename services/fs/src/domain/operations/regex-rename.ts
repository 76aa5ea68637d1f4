import { AppError } from '@wharf/errors';
import { parseEntryName } from '@wharf/paths';
import { createPace } from '../../driver-contract/pace.ts';
import { PERMISSION, requirePermission } from '../permissions.ts';
import { locate, resolvePath } from '../tree.ts';
import { type Operation, requireWrite } from './operation.ts';
import type { RenameJournal } from './rename-journal.ts';
import { type Renaming, renameAll } from './rename-plan.ts';
import { compileRename } from './rename-template.ts';
import { entriesIn } from './take-back-renames.ts';

export interface RegexRename {
  readonly src_dir: string;
  /** RE2. */
  readonly src_name_regex: string;
  /** A template, see compileRename(). */
  readonly new_name_regex: string;
}

/**
 * Renames every entry of a folder that the caller sees and whose name matches, all of them or none.
 *
 * @throws as renameAll(), and FAILED_PRECONDITION (no pattern) | UNSAFE_PATH (a result that is no name)
 */
export async function regexRename(operation: Operation, journal: RenameJournal, request: RegexRename): Promise<void> {
  const { tree, actor } = operation;
  requirePermission(actor, PERMISSION.rename);
  const path = resolvePath(actor, request.src_dir);
  requireWrite(tree, actor, path);
  tree.rules.requireAccess(actor, path, '');
  const renamed = compileRename(request.src_name_regex, request.new_name_regex);
  const located = locate(tree, path);
  const entries = await entriesIn(operation, located).catch((error) => {
    throw AppError.is(error, 'NOT_A_DIRECTORY') ? new AppError('NOT_A_DIRECTORY', 'not a folder', { cause: error }) : error;
  });
  const isVisible = tree.rules.listingFilter(actor, path);
  const renamings: Renaming[] = [];
  // A pattern may cost some milliseconds for each name: others get their turn in between.
  const pace = createPace(operation.signal);
  for (const entry of entries.values()) {
    const name = isVisible && !isVisible(entry.name, entry.isDirectory) ? undefined : renamed(entry.name);
    if (name !== undefined) renamings.push({ entry, name: parseEntryName(name) });
    await pace.step();
  }
  await renameAll(operation, journal, { path, located, find: async (name) => entries.get(name) }, renamings);
}
