import { AppError } from '@wharf/errors';
import { isDuplicateKey, type Models, type RuleRecord, readRules } from '@wharf/models';
import { seal } from '@wharf/service-kit';
import type { Rule, RuleFields } from '../domain/rule.ts';
import { mapInTurns } from './map-in-turns.ts';
import { openOrSealed } from './open-or-sealed.ts';

/** The path rules. Passwords are sealed in the store and in clear here. */
export interface RuleStore {
  /** By id. */
  list(): Promise<Rule[]>;
  /** False: the id is taken. @throws AppError RECORD_EXISTS: the path has a rule */
  insert(id: number, fields: RuleFields): Promise<boolean>;
  /** @throws AppError RECORD_NOT_FOUND | RECORD_EXISTS */
  replace(id: number, fields: RuleFields): Promise<void>;
  /** @throws AppError RECORD_NOT_FOUND */
  remove(id: number): Promise<void>;
  /** Seals passwords that lie in the store in clear. May run again, and in several replicas at once. */
  sealPasswords(): Promise<void>;
}

/** What a sealed text starts with. */
const SEALED = /^v1\./;

export function createRuleStore(models: Models, key: Buffer): RuleStore {
  const { rules } = models;
  const fromRecord = ({ _id, ...fields }: RuleRecord): Rule => ({
    ...fields,
    password: fields.password && openOrSealed(key, fields.password),
    id: _id,
  });
  const toRecord = (fields: RuleFields): RuleFields => ({ ...fields, password: fields.password && seal(key, fields.password) });
  return {
    list: async () => mapInTurns(await readRules(models), fromRecord),
    async insert(id, fields) {
      try {
        await rules.create({ _id: id, ...toRecord(fields) });
        return true;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        if (await rules.exists({ path: fields.path })) throw taken(fields.path);
        return false;
      }
    },
    async replace(id, fields) {
      try {
        const { matchedCount } = await rules.updateOne({ _id: id }, { $set: toRecord(fields) });
        if (matchedCount === 0) throw unknownRule();
      } catch (error) {
        throw isDuplicateKey(error) ? taken(fields.path) : error;
      }
    },
    async remove(id) {
      const { deletedCount } = await rules.deleteOne({ _id: id });
      if (deletedCount === 0) throw unknownRule();
    },
    async sealPasswords() {
      for (const { _id, password } of await readRules(models))
        if (password !== '' && !SEALED.test(password))
          await rules.updateOne({ _id, password }, { $set: { password: seal(key, password) } });
    },
  };
}

export function unknownRule(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'failed get meta: record not found');
}

function taken(path: string): AppError {
  return new AppError('RECORD_EXISTS', `the path ${path} has a rule already`, { details: { path } });
}
