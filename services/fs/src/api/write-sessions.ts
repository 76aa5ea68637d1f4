import { AppError } from '@wharf/errors';
import { isWithin, parseVirtualPath } from '@wharf/paths';
import { type UnfinishedUpload, type WriteSession as WireSession, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { isAdmin } from '@wharf/rights';
import { defineRpcService, forAdmins, forServices, forUsers, type RpcService } from '@wharf/service-kit';
import { beginOperation, beginReading, type FsContext } from '../context.ts';
import { type Actor, denied } from '../domain/access/permissions.ts';
import { resolvePath, shownPath } from '../domain/snapshot/snapshot.ts';
import { receivedBytes, type UploadSession } from '../domain/uploads/upload-session.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';
import { checkTarget, requireBringing } from '../domain/writes/check-target.ts';
import type { OpenedSession, WriteSession } from '../domain/writes/write-session.ts';
import type { WriteSessions } from '../domain/writes/write-sessions.ts';

/** The calls that frame files brought in by other services. */
export function createWriteRpc(context: FsContext, sessions: WriteSessions, uploads: Uploads): RpcService {
  return defineRpcService(WriteServiceDefinition, {
    checkTarget: forUsers(async (request, call) => {
      const operation = await beginOperation(context, call);
      const path = resolvePath(operation.actor, request.path);
      const located = await checkTarget(operation, path);
      return { path, mount_path: located.mount.storage.mount_path, inner_path: located.path };
    }),
    requireTarget: forServices(async ({ user_id, path: raw }, { signal }) => {
      const operation = await context.tasks.operationOf({ creator: { id: user_id, name: '', role: 0 }, signal });
      const path = parseVirtualPath(raw);
      if (!isWithin(operation.actor.basePath, path)) throw denied();
      await requireBringing(operation, path);
      return {};
    }),
    openWrite: forServices(async ({ id, user_id, path, size, with_digests }, call) => ({
      session: toWire(await sessions.open(id, user_id, { path, sizeBytes: size, hasDigests: with_digests }, call.signal)),
    })),
    resumeWrite: forServices(async ({ id }, call) => ({ session: toWire(await sessions.resume(id, call.signal)) })),
    syncWrite: forServices(async ({ id, size }) => {
      await sessions.sync(id, size);
      return {};
    }),
    commitWrite: forServices(async ({ id, size, digests }, call) => ({
      session: toWire(await sessions.commit(id, { sizeBytes: size, digests }, call.signal)),
    })),
    abortWrite: forServices(async ({ id }) => {
      await sessions.abort(id);
      return {};
    }),
    listUploads: forUsers(async ({ of_all, page, per_page }, call) => {
      const { actor } = await beginReading(context, call);
      if (of_all && !isAdmin(actor)) throw new AppError('PERMISSION_DENIED', 'You are not an admin');
      const limit = Math.min(per_page > 0 ? per_page : MAX_UPLOADS, MAX_UPLOADS);
      const offset = (Math.max(page, 1) - 1) * limit;
      const { sessions: found, total } = await uploads.list(of_all ? undefined : actor.id, { offset, limit });
      return { uploads: found.map((session) => toUnfinished(actor, session)), total };
    }),
    endUpload: forAdmins(async ({ id }) => {
      await uploads.end(id);
      return {};
    }),
    makeFolder: forServices(async ({ user_id, path }, call) => {
      await sessions.makeFolder(user_id, path, call.signal);
      return {};
    }),
  });
}

/** Uploads in one answer. */
const MAX_UPLOADS = 200;

function toUnfinished(actor: Actor, session: UploadSession): UnfinishedUpload {
  const { id, path, sizeBytes, upload, expiresAt } = session;
  return {
    id,
    username: upload.userName,
    path: shownPath(actor, path),
    size: sizeBytes,
    received_bytes: receivedBytes(session),
    chunk_size: upload.chunkBytes,
    created_ms: upload.createdAt.getTime(),
    expires_ms: expiresAt.getTime(),
    modified_ms: upload.modifiedAt?.getTime() ?? 0,
  };
}

function toWire(session: WriteSession | OpenedSession): WireSession {
  return {
    id: session.id,
    takes_ranges: session.hasDraft,
    data_url: session.dataUrl,
    published_path: session.isPublished ? (session.publishingPath ?? session.path) : '',
    size: session.sizeBytes,
    part_bytes: 'partBytes' in session ? session.partBytes : 0,
  };
}
