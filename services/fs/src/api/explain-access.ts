import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { createPatternBound, giveWay } from '@wharf/pace';
import { parseVirtualPath, type VirtualPath } from '@wharf/paths';
import type { ExplainAccessRequest, ExplainAccessResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { beginReading, type FsContext } from '../context.ts';
import { createRuleBookInTurns, type RuleBook } from '../domain/access/rule-book.ts';

/** admin/meta/explain: what people may do at a path and why, by the rules as they are, or as they would be with one that is not saved yet. */
export const explainAccessHandler =
  (context: FsContext) =>
  async ({ path, subjects, rule }: ExplainAccessRequest, call: Call): Promise<ExplainAccessResponse> => {
    const { snapshot } = await beginReading(context, call);
    const at = parseVirtualPath(path);
    const book = rule ? await withDraft(snapshot.rules, { ...rule, _id: rule.id, path: parseVirtualPath(rule.path) }) : snapshot.rules;
    const explained: ExplainAccessResponse['subjects'] = [];
    for (const { id, role, permission, base_path } of subjects) {
      await giveWay();
      const basePath = placeOf(base_path);
      if (basePath === undefined) continue;
      const decisions = book.explain({ id, role, permission, basePath }, at);
      explained.push({ id, decisions: decisions.map(({ rulePath, ...decision }) => ({ ...decision, rule_path: rulePath })) });
    }
    return { subjects: explained };
  };

/** Undefined: nobody is let in by it, and nothing is told of them. */
function placeOf(basePath: string): VirtualPath | undefined {
  try {
    return parseVirtualPath(basePath);
  } catch {
    return undefined;
  }
}

/** As admin takes them when a rule is saved. */
const MAX_PATTERNS = 200;
const MAX_PATTERN_CHARS = 1_000;

/** A rule has its path for itself, and a rule that is edited may move. */
function withDraft({ records }: RuleBook, draft: RuleRecord): Promise<RuleBook> {
  const isStored = records.some(({ _id, hide }) => _id === draft._id && hide === draft.hide);
  if (!isStored) requirePatterns(draft.hide);
  return createRuleBookInTurns([...records.filter(({ _id, path }) => _id !== draft._id && path !== draft.path), draft]);
}

function requirePatterns(hide: string): void {
  const lines = hide.split('\n').filter((line) => line.trim() !== '');
  const isHuge = createPatternBound();
  if (lines.length > MAX_PATTERNS || lines.some((line) => line.length > MAX_PATTERN_CHARS || isHuge(line)))
    throw new AppError('INVALID_ARGUMENT', 'hide: there are too many patterns, or one is too complex', { details: { field: 'hide' } });
}
