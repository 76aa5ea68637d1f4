import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { childPath, type EntryName, type VirtualPath } from '@wharf/paths';
import type { WriteSession } from '@wharf/proto/fs-write';
import type { Peers, ServiceKit } from '@wharf/service-kit';
import type { TaskOutcome } from '@wharf/task-engine';
import type { ByteWriter } from '../clients/byte-writer.ts';
import { isDeletedAfter } from '../domain/download-input.ts';
import { mayKeep } from '../fetch/disk-reserve.ts';
import type { SeedStore } from '../store/seed-store.ts';
import { type ToolFile, type ToolFolder, toolFolder } from '../tools/tool-folder.ts';
import { createReadableResults } from './readable-results.ts';
import { BEGINNING, type TransferInput, type TransferRun } from './transfer-run.ts';

export interface TransferTasks {
  run(run: TransferRun): Promise<void>;
  end(outcome: TaskOutcome, run: TransferRun): Promise<void>;
  /** Downloads with results that this replica lately could not read. */
  unreadable(): string[];
}

const READ_CHUNK_BYTES = 1024 * 1024;
interface TransferOptions {
  readonly kit: { readonly peers: Pick<Peers, 'fsWrites'> } & Pick<ServiceKit, 'ownCall' | 'clock'>;
  readonly bytes: ByteWriter;
  readonly seeds: Pick<SeedStore, 'leaveFile'>;
  readonly toolsDir: string;
}

export function createTransferTasks(options: TransferOptions): TransferTasks {
  const { kit, seeds, toolsDir } = options;
  const { fsWrites } = kit.peers;
  const folderOf = ({ tool, parent }: TransferInput) => toolFolder(toolsDir, tool, parent);
  const results = createReadableResults(folderOf, kit.clock);

  return {
    async run(run) {
      const { input, creator } = run;
      if (!creator) throw new AppError('PERMISSION_DENIED', 'permission denied');
      if (run.checkpoint?.isStored) return cleanUp(run, 'succeeded');
      const { files, emptyFolders, state } = await results.require(run);
      if ((run.checkpoint?.state ?? state) !== state) throw await changedSince(run);
      if (files.length + emptyFolders.length === 0) throw new AppError('CONTENT_CORRUPT', `what ${input.tool} made is no file or folder`);
      run.progress({ status: 'getting src object', phase: 'storing' });
      const pathOf = (names: readonly EntryName[]) => names.reduce<VirtualPath>(childPath, input.directory);
      const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      let { index, sessionId } = run.checkpoint ?? BEGINNING;
      let doneBytes = files.slice(0, index).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      for (; index < files.length; index++) {
        const file = files[index];
        if (!file) break;
        const begun = sessionId === '' ? undefined : await find(kit, sessionId);
        if (begun && begun.published_path !== '') {
          doneBytes += file.sizeBytes;
        } else {
          const target = { user_id: creator.id, path: pathOf(file.names), size: file.sizeBytes };
          const session = await sessionFor(kit, target, begun, sessionId, (id) =>
            run.saveCheckpoint({ index, sessionId: id, state }, false),
          );
          const before = doneBytes;
          await storeFile(options, folderOf(input), run, file, session, (count) => {
            doneBytes += count;
            run.progress({ doneBytes, totalBytes });
          });
          doneBytes = before + file.sizeBytes;
        }
        sessionId = '';
        const isStored = index + 1 === files.length && emptyFolders.length === 0;
        await run.saveCheckpoint({ index: index + 1, sessionId: '', state, ...(isStored && { isStored }) });
      }
      for (const { names } of emptyFolders) {
        run.signal.throwIfAborted();
        await fsWrites.makeFolder({ user_id: creator.id, path: pathOf(names) }, kit.ownCall());
      }
      if (emptyFolders.length > 0) await run.saveCheckpoint({ index: files.length, sessionId: '', isStored: true });
      await cleanUp(run, 'succeeded');
    },
    async end(outcome, run) {
      const { input, checkpoint } = run;
      if (checkpoint && checkpoint.sessionId !== '') await fsWrites.abortWrite({ id: checkpoint.sessionId }, kit.ownCall());
      if (outcome === 'failed') await cleanUp(run, 'failed');
      else await removeOrLeave(input);
    },
    unreadable: results.unreadable,
  };

  /** Files are counted: of another result others would be left out. A retry begins it anew. */
  async function changedSince({ input, checkpoint, saveCheckpoint }: TransferRun): Promise<AppError> {
    if (checkpoint && checkpoint.sessionId !== '') await fsWrites.abortWrite({ id: checkpoint.sessionId }, kit.ownCall());
    await saveCheckpoint(BEGINNING, false);
    return new AppError('CONTENT_CORRUPT', `what ${input.tool} made changed while it was transferred`);
  }

  async function cleanUp({ input, logger }: TransferRun, outcome: 'succeeded' | 'failed'): Promise<void> {
    if (!isDeletedAfter(input.deletePolicy, outcome)) {
      if (await mayKeep(toolsDir)) return;
      logger.warn({ tool: input.tool }, 'what its delete_policy keeps is removed: the disk has little left for other downloads');
    }
    await removeOrLeave(input);
  }

  /** What is still seeded goes when that ends. */
  async function removeOrLeave(input: TransferInput): Promise<void> {
    if (!(await seeds.leaveFile(input.parent, input.name))) await folderOf(input).removeResult(input.name);
  }
}

async function find({ peers: { fsWrites }, ownCall }: TransferOptions['kit'], id: string): Promise<WriteSession | undefined> {
  try {
    return (await fsWrites.resumeWrite({ id }, ownCall())).session ?? undefined;
  } catch (error) {
    if (AppError.is(error, 'RECORD_NOT_FOUND')) return undefined;
    throw error;
  }
}

/** A new one, unless that of an earlier attempt takes whole files: it tells whether the file has its name already, which gets another one else. */
async function sessionFor(
  { peers: { fsWrites }, ownCall }: TransferOptions['kit'],
  target: { user_id: number; path: string; size: number },
  begun: WriteSession | undefined,
  beganId: string,
  note: (id: string) => Promise<void>,
): Promise<WriteSession> {
  if (begun && !begun.takes_ranges) return begun;
  if (beganId !== '') await fsWrites.abortWrite({ id: beganId }, ownCall());
  const id = randomBytes(16).toString('hex');
  await note(id);
  const { session } = await fsWrites.openWrite({ id, ...target }, ownCall());
  if (!session) throw new AppError('INTERNAL', 'internal error');
  return session;
}

/** Carries one file of a result into the tree. */
async function storeFile(
  { kit, bytes }: Pick<TransferOptions, 'kit' | 'bytes'>,
  folder: ToolFolder,
  run: TransferRun,
  file: ToolFile,
  session: WriteSession,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const hash = createHash('sha256');
  let sentBytes = 0;
  const changed = (cause?: unknown) => new AppError('CONTENT_CORRUPT', 'a file changed while it was transferred', { cause });
  const content = async function* () {
    const handle = await folder.open(file.place).catch((error) => {
      throw changed(error);
    });
    for await (const chunk of handle.createReadStream({ highWaterMark: READ_CHUNK_BYTES, signal: run.signal })) {
      if (!Buffer.isBuffer(chunk)) continue;
      hash.update(chunk);
      sentBytes += chunk.length;
      // One that grows as it is read has no end.
      if (sentBytes > file.sizeBytes) throw changed();
      onBytes(chunk.length);
      yield chunk;
    }
  };
  const target = { id: session.id, dataUrl: session.data_url };
  if (session.takes_ranges) await bytes.writeRange(target, 0, content(), run.signal);
  else await bytes.writeWhole(target, { sizeBytes: file.sizeBytes, digests: {} }, content(), run.signal);
  if (sentBytes !== file.sizeBytes) throw changed();
  await run.assertLease();
  const digests = session.takes_ranges ? { sha256: hash.digest('hex') } : undefined;
  await kit.peers.fsWrites.commitWrite(
    { id: session.id, size: sentBytes, ...(digests ? { digests } : {}) },
    { ...kit.ownCall(), signal: run.signal },
  );
}
