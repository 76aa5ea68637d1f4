import { once } from 'node:events';
import { AppError } from '@wharf/errors';
import { type WriteServiceClient, WriteServiceDefinition } from '@wharf/proto/fs-write';
import {
  createDirectClient,
  createInternalTokens,
  defineRpcService,
  forAnyone,
  forServices,
  outgoingCall,
  type RpcService,
} from '@wharf/service-kit';
import type { ByteWriter } from '../src/clients/byte-writer.ts';

/** An fs whose storage takes only whole files, and keeps them in memory. */
export interface FakeFs {
  readonly service: RpcService;
  readonly bytes: ByteWriter;
  /** What was published, by path. */
  readonly files: Map<string, Buffer>;
  /** Those that were asked for. */
  readonly folders: Set<string>;
  /** Sessions that are open. */
  readonly sessionCount: number;
  /** The storage is away. */
  refuses: boolean;
  /** The storage does not end. */
  hangs: boolean;
  /** Bytes that a user may store. */
  room: number;
}

export function createFakeFs(): FakeFs {
  const files = new Map<string, Buffer>();
  const folders = new Set<string>();
  const sessions = new Map<string, { readonly path: string; size: number; published: string }>();
  const sessionOf = (id: string) => {
    const session = sessions.get(id);
    if (!session) throw new AppError('RECORD_NOT_FOUND', 'gone');
    return session;
  };
  const answerOf = (id: string) => {
    const { size, published } = sessionOf(id);
    return { session: { id, takes_ranges: false, data_url: '', published_path: published, size } };
  };
  const requireRoom = (size: number) => {
    if (size > fake.room) throw new AppError('QUOTA_EXCEEDED', 'quota exceeded');
  };
  const fake: FakeFs = {
    files,
    folders,
    refuses: false,
    hangs: false,
    room: Number.POSITIVE_INFINITY,
    get sessionCount() {
      return sessions.size;
    },
    service: defineRpcService(WriteServiceDefinition, {
      checkTarget: forAnyone(async ({ path }) => ({ path, mount_path: '/', inner_path: path })),
      requireTarget: forServices(async () => ({})),
      openWrite: forServices(async ({ id, path, size }) => {
        requireRoom(size);
        sessions.set(id, { path, size, published: '' });
        return answerOf(id);
      }),
      resumeWrite: forServices(async ({ id }) => answerOf(id)),
      syncWrite: forServices(async ({ size }) => {
        requireRoom(size);
        return {};
      }),
      commitWrite: forServices(async ({ id }) => answerOf(id)),
      abortWrite: forServices(async ({ id }) => {
        sessions.delete(id);
        return {};
      }),
      listUploads: forServices(async () => ({ uploads: [], total: 0 })),
      endUpload: forServices(async () => ({})),
      makeFolder: forServices(async ({ path }) => {
        folders.add(path);
        return {};
      }),
    }),
    bytes: {
      writeRange: () => Promise.reject(new Error('it takes no ranges')),
      async writeWhole({ id }, _file, content, signal) {
        if (fake.hangs && !signal.aborted) await once(signal, 'abort');
        signal.throwIfAborted();
        if (fake.refuses) throw new AppError('STORAGE_UNAVAILABLE', 'away');
        const session = sessionOf(id);
        const chunks: Uint8Array[] = [];
        for await (const chunk of content) chunks.push(chunk);
        const stored = Buffer.concat(chunks);
        files.set(session.path, stored);
        Object.assign(session, { published: session.path, size: stored.length });
      },
      close() {},
    },
  };
  return fake;
}

/** What of a kit leads to an fs, for parts of the downloader by themselves. */
export function kitOf({ service }: FakeFs) {
  const tokens = createInternalTokens(Buffer.alloc(32), Date.now);
  const ownCall = () =>
    outgoingCall(tokens, { identity: { kind: 'service', name: 'downloader' }, requestId: 'test', revisions: { auth: 0, admin: 0 } });
  const fsWrites = createDirectClient<WriteServiceClient>(
    WriteServiceDefinition,
    () => service,
    tokens,
    () => {},
  );
  return { peers: { fsWrites }, ownCall };
}
