import { aggregateRules } from './aggregates.rules.ts';
import { commandRules } from './commands.rules.ts';
import { filterRules } from './filters.rules.ts';
import { indexRules } from './indexes.rules.ts';
import { raceRules } from './races.rules.ts';
import { readRules } from './reads.rules.ts';
import type { Rule } from './store-contract.ts';
import { updateRules } from './updates.rules.ts';

/** The whole contract of the store. */
export const ALL_RULES: Readonly<Record<string, (rule: Rule) => void>> = {
  commands: commandRules,
  filters: filterRules,
  reads: readRules,
  updates: updateRules,
  indexes: indexRules,
  aggregates: aggregateRules,
  'races and mongoose': raceRules,
};
