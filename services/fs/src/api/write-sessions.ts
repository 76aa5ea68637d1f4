import { type WriteSession as WireSession, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { defineRpcService, forServices, forUsers, type RpcService } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../context.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';
import { checkTarget } from '../domain/writes/check-target.ts';
import type { OpenedSession, WriteSession } from '../domain/writes/write-session.ts';
import type { WriteSessions } from '../domain/writes/write-sessions.ts';

/** The calls that frame files brought in by other services. */
export function createWriteRpc(context: FsContext, sessions: WriteSessions): RpcService {
  return defineRpcService(WriteServiceDefinition, {
    checkTarget: forUsers(async (request, call) => {
      const operation = await beginOperation(context, call);
      const path = resolvePath(operation.actor, request.path);
      const located = await checkTarget(operation, path);
      return { path, mount_path: located.mount.storage.mount_path, inner_path: located.path };
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
    makeFolder: forServices(async ({ user_id, path }, call) => {
      await sessions.makeFolder(user_id, path, call.signal);
      return {};
    }),
  });
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
