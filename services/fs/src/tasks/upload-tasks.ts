import { randomUUID } from 'node:crypto';
import { baseName } from '@wharf/paths';
import { seal } from '@wharf/service-kit';
import { type TaskCreator, type TaskEngine, type WireTask, wireTask } from '@wharf/task-engine';
import type { Upload, UploadRequest } from '../domain/changing/upload.ts';
import { withinClaim } from '../domain/quota/quota.ts';
import { uploadName } from './task-names.ts';
import type { UploadArea } from './upload-area.ts';
import type { uploadKind } from './upload-kind.ts';

export interface ReceivedBody {
  readonly upload: Upload;
  readonly request: UploadRequest;
  readonly content: AsyncIterable<Uint8Array>;
  readonly creator: TaskCreator;
  readonly signal: AbortSignal;
}

/** Uploads that are answered when their bodies are safe here, and stored afterwards. */
export interface UploadTasks {
  /**
   * Takes a body in, completely and durably, and queues its task. Its bytes are claimed before they come, and the task goes on with the claim.
   * @throws as UploadArea.receive(), and AppError QUOTA_EXCEEDED (of the user)
   */
  receive(body: ReceivedBody): Promise<WireTask>;
}

/** @param key under which passwords are sealed */
export function createUploadTasks(engine: TaskEngine, area: UploadArea, kind: ReturnType<typeof uploadKind>, key: Buffer): UploadTasks {
  return {
    async receive({ upload, request, content, creator, signal }) {
      const { sizeBytes, expectedHashes, overwrite, modifiedAt = new Date() } = request;
      const { path, located, needsPassword } = upload;
      const claim = randomUUID();
      const held = await upload.hold(claim);
      let body: { file: string; sizeBytes: number };
      try {
        body = await area.receive(withinClaim(content, held), { userId: creator.id, sizeBytes, expectedHashes, signal });
      } catch (error) {
        await held.release();
        throw error;
      }
      const task = {
        name: uploadName(baseName(path) ?? '', located),
        creator,
        status: 'uploading',
        totalBytes: body.sizeBytes,
        input: {
          path,
          storage: located.mount.storage._id,
          file: body.file,
          sizeBytes: body.sizeBytes,
          modified: modifiedAt.getTime(),
          overwrite,
          hashes: expectedHashes,
          claim,
          hadPassword: needsPassword,
          // One that guards a file is kept where the rule keeps it, in the same way.
          ...(needsPassword && request.password !== undefined && { password: seal(key, request.password) }),
        },
      };
      try {
        return wireTask(await engine.add(kind, task));
      } catch (error) {
        await area.remove(body.file);
        await held.release();
        throw error;
      } finally {
        held.letGo();
      }
    },
  };
}
