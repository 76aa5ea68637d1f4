import type { World } from '../support/world.ts';
import { accounts } from './accounts.ts';
import { administration } from './administration.ts';
import { credentials } from './credentials.ts';
import { downloads } from './downloads.ts';
import { envelopes } from './envelopes.ts';
import { operations } from './operations.ts';
import { rules } from './rules.ts';
import { search } from './search.ts';
import { settings } from './settings.ts';
import { storageCalls } from './storage-calls.ts';
import { storages } from './storages.ts';
import { tasks } from './tasks.ts';
import { tools } from './tools.ts';
import { tour } from './tour.ts';
import { transfers } from './transfers.ts';
import { traversal } from './traversal.ts';
import { uploads } from './uploads.ts';

/** What holds in every shape. Each scenario registers its tests for a Wharf that runs already. */
export const SCENARIOS: readonly ((world: World) => void)[] = [
  tour,
  storages,
  storageCalls,
  accounts,
  credentials,
  rules,
  operations,
  settings,
  administration,
  search,
  tasks,
  tools,
  uploads,
  downloads,
  transfers,
  traversal,
  envelopes,
];
