import { AppError } from '@wharf/errors';
import { isEntryName } from '@wharf/paths';
import { type ServiceKit, unseal } from '@wharf/service-kit';
import { postponed, type TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import type { ByteWriter } from '../clients/byte-writer.ts';
import { createTreeDestination } from '../clients/tree-destination.ts';
import { type DownloadInput, isDeletedAfter } from '../domain/download-input.ts';
import { MAX_FILE_BYTES, MAX_PARTS } from '../domain/part-map.ts';
import { dropFetch, fetchFile, type SavedFetch } from '../fetch/fetch-file.ts';
import type { RateLimit } from '../fetch/rate-limit.ts';
import { createRateLimit } from '../fetch/rate-limit.ts';
import { missingRoom, type Scratch, showBytes } from '../fetch/scratch.ts';
import type { FetchNetwork } from '../fetch/source.ts';

const savedFetch = z.object({
  name: z.string().refine(isEntryName),
  draftId: z.string(),
  parts: z
    .object({
      sizeBytes: z.number().int().min(0).max(MAX_FILE_BYTES),
      partBytes: z.number().int().min(1),
      validator: z.object({ etag: z.string(), lastModified: z.string() }),
      done: z.string(),
      begun: z
        .array(z.object({ part: z.number(), bytes: z.number() }))
        .readonly()
        .default([]),
    })
    .refine(({ sizeBytes, partBytes }) => sizeBytes / partBytes <= MAX_PARTS)
    .optional()
    // What could not be gone on with begins anew.
    .catch(undefined),
});
/** The checkpoint of a SimpleHttp run: how far it came, or the room that it waits for. */
export const fetchState = z.union([z.object({ fetch: savedFetch }), z.object({ needsBytes: z.number() })]);
export type FetchState = z.output<typeof fetchState>;

/** Whether a state is more than the intention to fetch: otherwise workers that are lost over a source would never be counted. */
export const hasProgress = (state: FetchState | undefined): boolean =>
  state !== undefined && ('needsBytes' in state || state.fetch.parts !== undefined);

type FetchRun = Pick<TaskRun<DownloadInput, never, never>, 'input' | 'creator' | 'signal' | 'progress' | 'assertLease'>;

export interface FetchTasks {
  /** Fetches a file to where its task wants it; is postponed while the scratch folder is too full. @param save keeps what a later run goes on from */
  run(run: FetchRun, state: FetchState | undefined, save: (state: FetchState | undefined) => Promise<void>): Promise<void>;
  /** Takes back what the runs left. */
  drop(run: FetchRun, state: FetchState | undefined): Promise<void>;
}

export interface FetchTaskOptions {
  readonly kit: ServiceKit;
  readonly bytes: ByteWriter;
  readonly scratch: Scratch;
  /** A network of its own for each file: its connections end with it. */
  readonly openNetwork: (userId: number | undefined) => FetchNetwork;
  readonly connections: number;
  /** Of all files of this replica together. */
  readonly rateLimit: RateLimit;
  /** Bytes a second of one file; 0: no limit. */
  readonly taskBytesPerSecond: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly onBytes: (bytes: number) => void;
}

/** A source that sends nothing for so long has stalled, in milliseconds. */
const STALL_MS = 30_000;
/** Parts are noted this often, in milliseconds: a worker that dies loses no more. */
const SAVE_EVERY_MS = 1_000;
/**
 * A download that waits for room in the scratch folder checks again after so long, in milliseconds, or sooner when another download ends.
 */
const LOOK_AGAIN_MS = 30_000;

export function createFetchTasks(options: FetchTaskOptions): FetchTasks {
  const { kit } = options;
  const destinationOf = ({ input, creator, signal, progress }: FetchRun) => {
    if (!creator) throw new AppError('PERMISSION_DENIED', 'permission denied');
    return createTreeDestination({
      ...options,
      userId: creator.id,
      directory: input.directory,
      signal,
      onStoring: () => progress({ phase: 'storing' }),
      keepsScratch: !isDeletedAfter(input.deletePolicy, 'succeeded'),
    });
  };
  return {
    async run(run, state, save) {
      const { input, signal } = run;
      const saved = fetchOf(state);
      const network = options.openNetwork(run.creator?.id);
      let totalBytes: number | undefined;
      let doneBytes = saved?.parts ? undefined : 0;
      const tell = (bytes: number) => {
        if (doneBytes !== undefined && bytes > doneBytes) options.onBytes(bytes - doneBytes);
        doneBytes = bytes;
        const detail = totalBytes === undefined ? showBytes(bytes) : `${showBytes(bytes)} of ${showBytes(totalBytes)}`;
        run.progress({ doneBytes: bytes, status: `[${input.tool}]: ${detail}`, ...(totalBytes === undefined ? {} : { totalBytes }) });
      };
      try {
        // Without asking the source again.
        if (state && 'needsBytes' in state) await options.scratch.requireRoom(state.needsBytes, run.creator?.id);
        const { sizeBytes } = await fetchFile({
          network,
          url: unseal(kit.keys.atRest, input.url),
          destination: destinationOf(run),
          saved,
          digests: input.digests,
          connections: options.connections,
          limits: [options.rateLimit, createRateLimit(options.taskBytesPerSecond)],
          stallMs: STALL_MS,
          saveEveryMs: SAVE_EVERY_MS,
          maxBytes: options.maxBytes === 0 ? Number.POSITIVE_INFINITY : options.maxBytes,
          clock: kit.clock,
          signal,
          onFile(file) {
            totalBytes = file.sizeBytes;
            run.progress({ phase: 'fetching', status: `[${input.tool}]: ${file.name}`, totalBytes: totalBytes ?? 0 });
          },
          onVerify: () => run.progress({ phase: 'verifying' }),
          beforeCommit: () => run.assertLease(),
          onProgress: tell,
          onSave: (fetch) => save(fetch && { fetch }),
        });
        run.progress({ doneBytes: sizeBytes, totalBytes: sizeBytes, status: 'offline download completed, maybe transferring' });
      } catch (error) {
        const needsBytes = missingRoom(error);
        if (needsBytes === undefined || signal.aborted) throw error;
        await save({ needsBytes });
        throw postponed(AppError.from(error).message, LOOK_AGAIN_MS);
      } finally {
        network.client.close();
      }
    },
    drop: (run, state) => dropFetch(destinationOf(run), fetchOf(state)),
  };
}

function fetchOf(state: FetchState | undefined): SavedFetch | undefined {
  return state && 'fetch' in state ? state.fetch : undefined;
}
