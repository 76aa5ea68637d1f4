import { randomUUID } from 'node:crypto';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, waitFor } from '@wharf/harness';
import type { TaskModels, TaskRecord } from '@wharf/models';
import { taskModelsOf } from '@wharf/models';
import { type Bus, connectStore, createLocalBus, type StoreConnection } from '@wharf/service-kit';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { createTaskEngine, defineTaskKind, type TaskEngine, type TaskEngineOptions, type TaskKind } from '../src/index.ts';

export const EVERYBODY = { creatorId: undefined };
export const ANN = { id: 3, name: 'ann', role: 0 };
export const BOB = { id: 4, name: 'bob', role: 0 };

/** Runs until it is told to end. */
export const idle = defineTaskKind({
  name: 'idle',
  input: z.object({}),
  maxRetries: 0,
  run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
});

/** A store, and replicas of a service with tasks over it. */
export interface Installation {
  /** The store's address, with a database of its own. */
  readonly url: string;
  readonly models: TaskModels;
  /** Starts a worker. Without `bus` it has none that reaches others. */
  open(kinds: readonly TaskKind<never>[], rest?: Partial<TaskEngineOptions>): Promise<TaskEngine>;
  read(id: string): Promise<TaskRecord>;
  /** Waits until a task is in a state, and answers it. */
  untilState(id: string, state: number): Promise<TaskRecord>;
  log(): string;
  close(): Promise<void>;
}

/** An installation on an embedded store of its own, which ends with it. @param purpose for the name of its folder */
export async function openOwnInstallation(purpose: string): Promise<Installation> {
  const dir = await makeTempDir(purpose);
  const store = await startEmbeddedMongo({ dataDir: dir.path });
  const place = await openInstallation(store.url);
  return {
    ...place,
    async close() {
      await place.close();
      await store.stop();
      await dir.remove();
    },
  };
}

export async function openInstallation(storeUrl: string): Promise<Installation> {
  const url = Object.assign(new URL(storeUrl), { pathname: `/tasks-${randomUUID()}` }).href;
  const connections: StoreConnection[] = [];
  const connect = async () => {
    const connection = await connectStore(url);
    connections.push(connection);
    return connection;
  };
  const store = await connect();
  const models = taskModelsOf(store, 'fs');
  const engines: TaskEngine[] = [];
  let log = '';
  const write = (line: string) => {
    log += line;
  };
  const logger = pino({ level: 'debug' }, { write });
  const lonely = (): Bus => createLocalBus(() => {});

  const read: Installation['read'] = async (id) => {
    const record = await models.tasks.findById(id).lean<TaskRecord>();
    if (!record) throw new Error(`there is no task ${id}`);
    return record;
  };
  return {
    url,
    models,
    async open(kinds, rest = {}) {
      const engine = createTaskEngine({
        owner: 'fs',
        store: await connect(),
        bus: lonely(),
        logger,
        metrics: new Registry(),
        kinds,
        ...rest,
      });
      engines.push(engine);
      await engine.start();
      return engine;
    },
    read,
    untilState: (id, state) =>
      waitFor(
        `task ${id} in state ${state}`,
        async () => {
          const record = await read(id);
          return record.state === state ? record : undefined;
        },
        { withinMs: 40_000, everyMs: 30 },
      ),
    log: () => log,
    async close() {
      for (const engine of engines) await engine.stop();
      await connections[0]?.dropDatabase();
      for (const connection of connections) await connection.close();
    },
  };
}

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Rejects when the signal is aborted; resolves when the promise does. */
export function unlessAborted<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}
