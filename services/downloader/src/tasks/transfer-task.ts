import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { childPath, type EntryName, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import type { WriteSession } from '@wharf/proto/fs-write';
import type { Peers, ServiceKit } from '@wharf/service-kit';
import { postponed, type TaskOutcome, type TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import type { ByteWriter } from '../clients/byte-writer.ts';
import { DELETE_POLICIES, isDeletedAfter } from '../domain/download-input.ts';
import type { SeedStore } from '../store/seed-store.ts';
import { type ToolFile, type ToolResult, toolFolder } from '../tools/tool-folder.ts';
import { BLIND_MS, HAND_OVER_MS } from '../tools/tool-sight.ts';

/** A task of the list `offline_download_transfer`: one result of a tool goes into the tree. */
export const transferInput = z.object({
  /** The download task that it is a part of. */
  parent: z.string(),
  tool: z.string(),
  /** In the task's folder. */
  name: z.string(),
  directory: z.string().transform(parseVirtualPath),
  mountPath: z.string(),
  innerPath: z.string(),
  deletePolicy: z.enum(DELETE_POLICIES),
});
export type TransferInput = z.output<typeof transferInput>;

export const savedTransfer = z.object({
  /** Files come in a fixed order: all before this one are in the tree. */
  index: z.number(),
  sessionId: z.string(),
  /** No downloader could read the result since then, in milliseconds; left out: it was read last time. */
  missingSince: z.number().optional(),
});
type SavedTransfer = z.output<typeof savedTransfer>;
const BEGINNING: SavedTransfer = { index: 0, sessionId: '' };

type TransferRun = Pick<
  TaskRun<TransferInput, SavedTransfer, null>,
  'input' | 'creator' | 'signal' | 'logger' | 'progress' | 'checkpoint' | 'saveCheckpoint' | 'assertLease'
>;

export interface TransferTasks {
  run(run: TransferRun): Promise<void>;
  end(outcome: TaskOutcome, run: TransferRun): Promise<void>;
  /** Downloads with results that this replica lately could not read. */
  unreadable(): string[];
}

const READ_CHUNK_BYTES = 1024 * 1024;
/** A result that no downloader could read for so long is given up, in milliseconds: the only one that can may be away for a while. */
const MISSING_LIMIT_MS = 3_600_000;

export function createTransferTasks(options: {
  readonly kit: { readonly peers: Pick<Peers, 'fsWrites'> } & Pick<ServiceKit, 'ownCall' | 'clock'>;
  readonly bytes: ByteWriter;
  readonly seeds: Pick<SeedStore, 'leaveFile'>;
  readonly toolsDir: string;
}): TransferTasks {
  const { kit, bytes, seeds, toolsDir } = options;
  const { fsWrites } = kit.peers;
  const folderOf = ({ tool, parent }: TransferInput) => toolFolder(toolsDir, tool, parent);
  /** By download: when that was found. */
  const unreadable = new Map<string, number>();

  /** The tool need not be there any more. @throws what {@link postponed} makes: another replica may read what this one does not */
  const requireResult = async (run: TransferRun): Promise<ToolResult> => {
    const { input } = run;
    const { missingSince, ...done } = run.checkpoint ?? BEGINNING;
    const found = await folderOf(input)
      .walk(input.name)
      .catch((error: unknown) => {
        if (AppError.is(error)) throw error;
        run.logger.warn({ err: error, tool: input.tool }, 'what a download tool made cannot be read here');
      });
    const now = kit.clock();
    if (found) {
      unreadable.delete(input.parent);
      if (missingSince !== undefined) await run.saveCheckpoint(done);
      return found;
    }
    unreadable.set(input.parent, now);
    if (missingSince !== undefined && now - missingSince >= MISSING_LIMIT_MS) {
      // Who retries it waits anew.
      await run.saveCheckpoint(done);
      throw new AppError('FAILED_PRECONDITION', `no downloader could read what ${input.tool} made`);
    }
    await run.saveCheckpoint({ ...done, missingSince: missingSince ?? now });
    throw postponed(`waits for a downloader that can read what ${input.tool} made`, HAND_OVER_MS);
  };

  const store = async (run: TransferRun, file: ToolFile, session: WriteSession, onBytes: (bytes: number) => void): Promise<void> => {
    const hash = createHash('sha256');
    let sentBytes = 0;
    const changed = (cause?: unknown) => new AppError('CONTENT_CORRUPT', 'a file changed while it was transferred', { cause });
    const content = async function* () {
      const handle = await folderOf(run.input)
        .open(file.place)
        .catch((error) => {
          throw changed(error);
        });
      for await (const chunk of handle.createReadStream({ highWaterMark: READ_CHUNK_BYTES, signal: run.signal })) {
        if (!Buffer.isBuffer(chunk)) continue;
        hash.update(chunk);
        sentBytes += chunk.length;
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
    await fsWrites.commitWrite(
      { id: session.id, size: sentBytes, ...(digests ? { digests } : {}) },
      { ...kit.ownCall(), signal: run.signal },
    );
  };

  return {
    async run(run) {
      const { input, creator } = run;
      if (!creator) throw new AppError('PERMISSION_DENIED', 'permission denied');
      const { files, emptyFolders } = await requireResult(run);
      run.progress({ status: 'getting src object', phase: 'storing' });
      const pathOf = (names: readonly EntryName[]) => names.reduce<VirtualPath>(childPath, input.directory);
      const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      let { index, sessionId } = run.checkpoint ?? BEGINNING;
      let doneBytes = files.slice(0, index).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      for (; index < files.length; index++) {
        const file = files[index];
        if (!file) break;
        if (sessionId !== '' && (await isPublished(sessionId))) {
          doneBytes += file.sizeBytes;
        } else {
          if (sessionId !== '') await fsWrites.abortWrite({ id: sessionId }, kit.ownCall());
          const id = randomBytes(16).toString('hex');
          await run.saveCheckpoint({ index, sessionId: id });
          const target = { id, user_id: creator.id, path: pathOf(file.names), size: file.sizeBytes };
          const { session } = await fsWrites.openWrite(target, kit.ownCall());
          if (!session) throw new AppError('INTERNAL', 'internal error');
          const before = doneBytes;
          await store(run, file, session, (count) => {
            doneBytes += count;
            run.progress({ doneBytes, totalBytes });
          });
          doneBytes = before + file.sizeBytes;
        }
        sessionId = '';
        await run.saveCheckpoint({ index: index + 1, sessionId: '' });
      }
      for (const names of emptyFolders) {
        run.signal.throwIfAborted();
        await fsWrites.makeFolder({ user_id: creator.id, path: pathOf(names) }, kit.ownCall());
      }
      await cleanUp(input, 'succeeded');
    },
    async end(outcome, run) {
      const { input, checkpoint } = run;
      if (checkpoint && checkpoint.sessionId !== '') await fsWrites.abortWrite({ id: checkpoint.sessionId }, kit.ownCall());
      if (outcome === 'failed') await cleanUp(input, 'failed');
      else await removeOrLeave(input);
    },
    unreadable() {
      const now = kit.clock();
      for (const [parent, at] of unreadable) if (now - at >= BLIND_MS) unreadable.delete(parent);
      return [...unreadable.keys()];
    },
  };

  async function isPublished(id: string): Promise<boolean> {
    try {
      return ((await fsWrites.resumeWrite({ id }, kit.ownCall())).session?.published_path ?? '') !== '';
    } catch (error) {
      if (AppError.is(error, 'RECORD_NOT_FOUND')) return false;
      throw error;
    }
  }

  async function cleanUp(input: TransferInput, outcome: 'succeeded' | 'failed'): Promise<void> {
    if (isDeletedAfter(input.deletePolicy, outcome)) await removeOrLeave(input);
  }

  /** What is still seeded goes when that ends. */
  async function removeOrLeave(input: TransferInput): Promise<void> {
    if (!(await seeds.leaveFile(input.parent, input.name))) await folderOf(input).removeResult(input.name);
  }
}
