import { MessageChannel, Worker } from 'node:worker_threads';
import { makeTempDir } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { expect, it, onTestFinished } from 'vitest';
import type { LocalSettings } from './config.ts';
import type { DiskCall, DiskReport } from './disk-messages.ts';
import type { NewPlace } from './disk-threads.ts';

it('what ends together is told in one message, however many asked for it', async () => {
  const dir = await makeTempDir('disk-worker');
  const settings: LocalSettings = {
    ...{ rootPath: dir.path, addsUpFolders: false, showsHidden: true },
    ...{ folderMode: 0o777, recycleBinPath: undefined },
  };
  const state = () => new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./disk-worker.ts', import.meta.url), { workerData: state() });
  const { port1: port, port2 } = new MessageChannel();
  worker.postMessage({ port: port2, settings, id: 1, ended: state() } satisfies NewPlace, [port2]);
  onTestFinished(async () => {
    await worker.terminate();
    await dir.remove();
  });
  // Refused at once, though it would wait for the disk otherwise.
  const refused = { path: MOUNT_ROOT, content: new Uint8Array(), overwrite: true, modifiedMs: undefined };
  const batch = Array.from({ length: 5 }, (_, id): DiskCall => ({ ids: [id], operation: 'writeWhole', values: [refused] }));
  const reports: DiskReport[] = [];
  port.on('message', (report: DiskReport) => reports.push(report));
  port.postMessage({ batch });
  const answers = () => reports.flatMap((report) => report.answers);
  await expect.poll(() => answers().length).toBe(batch.length);
  expect(answers().map(({ ids, error }) => [ids[0], error?.code])).toEqual(batch.map(({ ids }) => [ids[0], 'IS_A_DIRECTORY']));
  expect(reports.filter((report) => report.answers.length > 0)).toHaveLength(1);
});
