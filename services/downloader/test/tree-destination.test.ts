import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { parseEntryName, parseVirtualPath } from '@wharf/paths';
import { type WriteServiceClient, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { createDirectClient, createInternalTokens, defineRpcService, forAnyone, forServices, outgoingCall } from '@wharf/service-kit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTreeDestination } from '../src/clients/tree-destination.ts';
import { createScratch } from '../src/fetch/scratch.ts';

const ID = 'a'.repeat(32);
let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('tree-destination');
});
afterEach(() => dir.remove());

/** An fs whose storage takes only whole files. */
function wholeFileStorage(keepsScratch = false) {
  const state = { path: '', stored: '', published: '', isOpen: false, refuses: false, room: Number.POSITIVE_INFINITY };
  const requireRoom = (size: number) => {
    if (size > state.room) throw new AppError('QUOTA_EXCEEDED', 'quota exceeded');
  };
  const session = () => ({ id: ID, takes_ranges: false, data_url: '', published_path: state.published, size: state.stored.length });
  const service = defineRpcService(WriteServiceDefinition, {
    checkTarget: forAnyone(async () => ({ path: '', mount_path: '', inner_path: '' })),
    openWrite: forServices(async ({ path, size }) => {
      requireRoom(size);
      Object.assign(state, { path, isOpen: true });
      return { session: session() };
    }),
    resumeWrite: forServices(async () => {
      if (!state.isOpen) throw new AppError('RECORD_NOT_FOUND', 'gone');
      return { session: session() };
    }),
    syncWrite: forServices(async ({ size }) => {
      requireRoom(size);
      return {};
    }),
    commitWrite: forServices(async () => ({ session: session() })),
    abortWrite: forServices(async () => {
      state.isOpen = false;
      return {};
    }),
  });
  const tokens = createInternalTokens(Buffer.alloc(32), Date.now);
  const ownCall = () =>
    outgoingCall(tokens, { identity: { kind: 'service', name: 'downloader' }, requestId: 'test', revisions: { auth: 0, admin: 0 } });
  const fsWrites = createDirectClient<WriteServiceClient>(
    WriteServiceDefinition,
    () => service,
    tokens,
    () => {},
  );
  const phases: string[] = [];
  const open = () =>
    createTreeDestination({
      kit: { peers: { fsWrites }, ownCall },
      bytes: {
        writeRange: () => Promise.reject(new Error('it takes no ranges')),
        async writeWhole(_session, _file, content) {
          if (state.refuses) throw new AppError('STORAGE_UNAVAILABLE', 'away');
          for await (const chunk of content) state.stored += Buffer.from(chunk).toString();
          state.published = state.path;
        },
        close() {},
      },
      scratch: createScratch({ dir: join(dir.path, 'scratch'), maxBytes: 1_000 }),
      userId: 1,
      directory: parseVirtualPath('/webdav'),
      signal: new AbortController().signal,
      onStoring: () => phases.push('storing'),
      keepsScratch,
    });
  return { state, phases, open };
}

const file = { name: parseEntryName('film.mkv'), sizeBytes: 11 };
const content = async function* (text: string) {
  yield Buffer.from(text);
};
const never = new AbortController().signal;
const scratchFiles = () => readdir(join(dir.path, 'scratch'));

describe('a storage that takes only whole files', () => {
  it('gets them from the scratch folder, which is empty afterwards', async () => {
    const { state, phases, open } = wholeFileStorage();
    const draft = await open().begin(file);
    await draft.sink.write(6, content('world'), never);
    await draft.sink.write(0, content('hello '), never);
    expect(await scratchFiles()).toHaveLength(1);
    await draft.commit({ sizeBytes: 11, digests: {} });
    expect(state).toMatchObject({ path: '/webdav/film.mkv', stored: 'hello world' });
    expect(phases).toEqual(['storing']);
    expect(await scratchFiles()).toEqual([]);
  });

  it('C17: has room held for them before they come: for what is announced, else for what is there', async () => {
    const { state, open } = wholeFileStorage();
    state.room = 10;
    await expect(open().begin(file)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', message: 'quota exceeded' });
    const draft = await open().begin({ ...file, sizeBytes: undefined });
    await expect(draft.sink.write(0, content('hello world'), never)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    await draft.abort();
    expect(await scratchFiles()).toEqual([]);
  });

  it('is told nothing of a file that is not what was announced', async () => {
    const { state, open } = wholeFileStorage();
    const draft = await open().begin(file);
    await draft.sink.write(0, content('hello'), never);
    await expect(draft.commit({ sizeBytes: 11, digests: {} })).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    await draft.abort();
    expect(state).toMatchObject({ stored: '', isOpen: false });
    expect(await scratchFiles()).toEqual([]);
  });

  it('that is away gets the file later: what was fetched waits', async () => {
    const { state, open } = wholeFileStorage();
    const draft = await open().begin(file);
    await draft.sink.write(0, content('hello world'), never);
    state.refuses = true;
    await expect(draft.commit({ sizeBytes: 11, digests: {} })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await draft.release();
    state.refuses = false;
    const again = await open().resume(draft.id);
    await again?.commit({ sizeBytes: 11, digests: {} });
    expect(state.stored).toBe('hello world');
    // Whoever died before he could note it finds it done.
    expect(await open().resume(draft.id)).toMatchObject({ published: { sizeBytes: 11 } });
  });

  it('of a replica whose scratch folder is another one begins anew', async () => {
    const { state, open } = wholeFileStorage();
    const draft = await open().begin(file);
    await draft.release();
    expect(await open().resume(`${ID}:${'b'.repeat(32)}`)).toBeUndefined();
    expect(state.isOpen).toBe(false);
  });

  it('keeps the temporary file where the policy says so', async () => {
    const { open } = wholeFileStorage(true);
    const draft = await open().begin(file);
    await draft.sink.write(0, content('hello world'), never);
    await draft.commit({ sizeBytes: 11, digests: {} });
    expect(await scratchFiles()).toHaveLength(1);
  });

  it('takes nothing that the scratch folder has no room for', async () => {
    const { state, open } = wholeFileStorage();
    await expect(open().begin({ ...file, sizeBytes: 5_000 })).rejects.toThrowError('needs 5 KB, 1 KB free in the scratch folder');
    expect(state.isOpen).toBe(false);
  });
});
