import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { modelsOf, taskModelsOf } from '@wharf/models';
import { createServiceKit } from '@wharf/service-kit';
import { expect, it, onTestFinished } from 'vitest';
import { openTree, vpath } from '../src/domain/testing/memory-tree.ts';
import { codeOf } from '../src/driver-contract/conformance/driver-calls.ts';
import { createFsTasks } from '../src/tasks/fs-tasks.ts';
import { CREATOR } from '../src/tasks/testing/place-now.ts';
import { openInstallation, SECRET } from './installation.ts';
import { mountSmallDisk, mounts } from './local/small-disk.ts';

const MIB = 1024 * 1024;
const COUNT = 100;

it.runIf(mounts)('who removes many entries may, also where the disk has no room for long lists of them', async () => {
  const dir = await makeTempDir('removals');
  onTestFinished(() => dir.remove());
  const dataFolder = join(dir.path, 'data');
  await mountSmallDisk(dataFolder, 20);
  await writeFile(join(dataFolder, 'full'), Buffer.alloc(19.5 * MIB, 1));
  const installation = await openInstallation();
  onTestFinished(() => installation.close());
  const { kit } = await installation.open();
  // Of its own, as one keeps one set of figures.
  const own = createServiceKit({ name: 'fs', logger: kit.logger, secret: SECRET, store: kit.store, bus: kit.bus, peers: () => kit.peers });
  const parts = { configuration: {}, changes: {}, folderCache: {}, dataFolder, uploadLimitBytes: 0 };
  const tasks = createFsTasks(own, modelsOf(kit.store), parts as never);
  const memory = await openTree({ storages: [{ mount_path: '/o', driver: 'Memory' }] });
  const located = memory.snapshot.table.locate(vpath('/o/d')) ?? expect.fail();
  const begun = Array.from({ length: COUNT }, (_, index) => ({ path: vpath(`/o/${'x'.repeat(100)}-${index}`), located, begun: '' }));
  const { tasks: model } = taskModelsOf(kit.store, 'fs');
  expect(await codeOf(tasks.queueTidying({ path: vpath('/x'.repeat(1_900)), located }, CREATOR))).toBe('QUOTA_EXCEEDED');
  await tasks.queueRemovals(begun, CREATOR);
  const inputs = (await model.find({ kind: 'remove' }).lean<{ input: string }[]>()).map(({ input }) => JSON.parse(input));
  expect(inputs.flatMap((input) => input.begun)).toHaveLength(COUNT);
});
