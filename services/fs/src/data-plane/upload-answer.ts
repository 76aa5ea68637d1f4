import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { baseName, parentPath } from '@wharf/paths';
import type { Task } from '@wharf/proto/fs';
import { successEnvelope } from '@wharf/service-kit';
import type { Upload } from '../domain/upload.ts';
import { sendEnvelope } from './refusal.ts';

const SUCCEEDED = 2;
/** 21 characters of base64url, like the family's ids. */
const TASK_ID_BYTES = 16;
const TASK_ID_LENGTH = 21;

/** Answers a finished upload with its task: it is done, and in no list. */
export function answerUpload(response: ServerResponse, { path, located }: Upload): void {
  const task: Task = {
    id: randomBytes(TASK_ID_BYTES).toString('base64url').slice(0, TASK_ID_LENGTH),
    name: `upload ${baseName(path)} to [${located.mount.storage.mount_path}](${parentPath(located.path)})`,
    state: SUCCEEDED,
    status: 'uploading',
    progress: 100,
    error: '',
  };
  sendEnvelope(response, successEnvelope({ task }));
}
