import { AppError } from '@wharf/errors';
import { isDuplicateKey, type Models, type RuleRecord, readRules } from '@wharf/models';
import type { Rule, RuleFields } from '../domain/rule.ts';

export interface RuleStore {
  /** By id. */
  list(): Promise<Rule[]>;
  /** False: the id is taken. @throws AppError RECORD_EXISTS: the path has a rule */
  insert(id: number, fields: RuleFields): Promise<boolean>;
  /** @throws AppError RECORD_NOT_FOUND | RECORD_EXISTS */
  replace(id: number, fields: RuleFields): Promise<void>;
  /** @throws AppError RECORD_NOT_FOUND */
  remove(id: number): Promise<void>;
}

export function createRuleStore(models: Models): RuleStore {
  const { rules } = models;
  return {
    list: async () => (await readRules(models)).map(fromRecord),
    async insert(id, fields) {
      try {
        await rules.create({ _id: id, ...fields });
        return true;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        if (await rules.exists({ path: fields.path })) throw taken(fields.path);
        return false;
      }
    },
    async replace(id, fields) {
      try {
        const { matchedCount } = await rules.updateOne({ _id: id }, { $set: fields });
        if (matchedCount === 0) throw unknownRule();
      } catch (error) {
        throw isDuplicateKey(error) ? taken(fields.path) : error;
      }
    },
    async remove(id) {
      const { deletedCount } = await rules.deleteOne({ _id: id });
      if (deletedCount === 0) throw unknownRule();
    },
  };
}

export function unknownRule(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'failed get meta: record not found');
}

function fromRecord({ _id, ...fields }: RuleRecord): Rule {
  return { ...fields, id: _id };
}

function taken(path: string): AppError {
  return new AppError('RECORD_EXISTS', `the path ${path} has a rule already`, { details: { path } });
}
