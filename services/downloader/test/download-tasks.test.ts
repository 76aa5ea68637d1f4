import { randomUUID } from 'node:crypto';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { settingsFrom, taskModelsOf } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import { connectStore, createLocalBus } from '@wharf/service-kit';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createDownloadTasks } from '../src/tasks/download-tasks.ts';
import { transferInput } from '../src/tasks/transfer-run.ts';

it('a worker that was held up while it queued transfers queues none of them twice', async () => {
  const dir = await makeTempDir('download-tasks');
  const engine = await startEmbeddedMongo({ dataDir: dir.path });
  const store = await connectStore(Object.assign(new URL(engine.url), { pathname: '/downloads' }).href);
  const nothing = async () => {};
  const open = () =>
    createDownloadTasks(
      { store, bus: createLocalBus(() => {}), logger: pino({ enabled: false }), metrics: new Registry() },
      {
        fetches: { run: nothing, drop: nothing },
        toolDownloads: { run: nothing, drop: nothing },
        transfers: { run: nothing, end: nothing, unreadable: () => [] },
        settings: async () => settingsFrom({ _id: 'settings', revision: 1, items: [] }),
        avoidedTools: () => [],
        perUser: 0,
        perTool: 0,
      },
    );
  const parent = { id: randomUUID(), creator: { id: 1, name: 'admin', role: ROLE.admin } };
  const results = Array.from({ length: 20 }, (_, index) =>
    transferInput.parse({
      ...{ parent: parent.id, tool: 'aria2', name: `film ${index}` },
      ...{ directory: '/in', mountPath: '/', innerPath: '/in', deletePolicy: 'delete_never' },
    }),
  );
  // Each has looked at what is queued before any of them has queued anything.
  await Promise.all([open(), open(), open()].map((worker) => worker.queueTransfers(parent, results)));
  const queued = await taskModelsOf(store, 'downloader').tasks.find().lean<{ name: string }[]>();
  expect(queued.map(({ name }) => name).sort()).toEqual(results.map(({ name }) => `transfer [](/${name}) to [/](/in)`).sort());
  await store.close();
  await engine.stop();
  await dir.remove();
});
