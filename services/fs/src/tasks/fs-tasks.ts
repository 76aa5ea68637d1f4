import { AppError } from '@wharf/errors';
import { type Models, readAdminRevision, readSettings, readUser } from '@wharf/models';
import { parseVirtualPath } from '@wharf/paths';
import { createRevisionedCache, type ServiceKit } from '@wharf/service-kit';
import { createTaskEngine, type TaskEngine, type TaskKind, type TaskRun } from '@wharf/task-engine';
import type { Configuration } from '../clients/configuration.ts';
import type { Changes } from '../domain/changes.ts';
import type { Operation } from '../domain/operations/operation.ts';

/** How many tasks of a kind run at a time where no setting says otherwise. */
const DEFAULT_THREADS = 5;

/** The background work of fs. */
export interface FsTasks {
  readonly engine: TaskEngine;
  /**
   * The frame of a run, like that of a handler: the task's creator with the rights that he has today, and the configuration of today.
   *
   * @throws AppError PERMISSION_DENIED: the task is nobody's, or its creator is gone or disabled
   */
  operationOf(run: Pick<TaskRun<never, never, never>, 'creator' | 'signal'>): Promise<Operation>;
}

export function createFsTasks(kit: ServiceKit, models: Models, parts: { configuration: Configuration; changes: Changes }): FsTasks {
  const { store, bus, logger, metrics, clock } = kit;
  const settings = createRevisionedCache({ clock, readRevision: () => readAdminRevision(models), load: () => readSettings(models) });

  const operationOf: FsTasks['operationOf'] = async ({ creator, signal }) => {
    const user = creator && (await readUser(models, creator.id));
    if (!user || user.disabled) throw new AppError('PERMISSION_DENIED', 'permission denied');
    const tree = await parts.configuration.tree({ auth: 0, admin: 0 });
    const { _id: id, role, permission } = user;
    return { tree, actor: { id, role, permission, basePath: parseVirtualPath(user.base_path) }, changes: parts.changes, signal };
  };

  const kinds: readonly TaskKind<never>[] = [];
  const listOf = new Map(kinds.map((kind) => [kind.name, kind.list]));
  const engine = createTaskEngine({
    owner: 'fs',
    store,
    bus,
    logger,
    metrics,
    kinds,
    concurrencyOf: async (kind) => (await settings.get()).number(`${listOf.get(kind) ?? kind}_task_threads_num`, DEFAULT_THREADS),
  });
  return { engine, operationOf };
}
