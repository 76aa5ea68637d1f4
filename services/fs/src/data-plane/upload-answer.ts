import type { ServerResponse } from 'node:http';
import { baseName, parentPath } from '@wharf/paths';
import { type Call, successEnvelope, userOf } from '@wharf/service-kit';
import { finishedTask } from '@wharf/task-engine';
import type { Upload } from '../domain/upload.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { sendEnvelope } from './refusal.ts';

/** Answers a finished upload with its task: it is done, and in no list. */
export function answerUpload(
  response: ServerResponse,
  { path, located }: Upload,
  done: { entry: Entry; startedAt: Date; call: Call },
): void {
  const { id, username, role } = userOf(done.call);
  const task = finishedTask({
    name: `upload ${baseName(path)} to [${located.mount.storage.mount_path}](${parentPath(located.path)})`,
    list: 'upload',
    creator: { id, name: username, role },
    startedAt: done.startedAt,
    sizeBytes: done.entry.sizeBytes,
    status: 'uploading',
  });
  sendEnvelope(response, successEnvelope({ task }));
}
