import { AppError, ERROR_CODES } from '@wharf/errors';
import { baseName, isWithin, parseVirtualPath, relativeTo } from '@wharf/paths';
import { unseal } from '@wharf/service-kit';
import { backoffMs, defineTaskKind, postponed, type TaskKind, type TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import { denied } from '../domain/access/permissions.ts';
import { looksLikeCopy, mayBeCopy } from '../domain/changing/looks-like-copy.ts';
import { callOf, type Operation, type Place, savedMeanwhile } from '../domain/changing/operations/operation.ts';
import { hasContent } from '../domain/changing/same-content.ts';
import { statIfThere } from '../domain/changing/stat-if-there.ts';
import { beginUpload, type Upload } from '../domain/changing/upload.ts';
import { locateIn } from '../domain/snapshot/snapshot.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import { isAsNoted, versionOf, versionShape } from './manifest.ts';
import type { UploadArea } from './upload-area.ts';

export const uploadShape = z.object({
  /** Of the tree. */
  path: z.string(),
  /** The id of the storage that was chosen. */
  storage: z.number().int(),
  /** In the area of the replica that received it. */
  file: z.string(),
  sizeBytes: z.number(),
  modified: z.number(),
  overwrite: z.boolean(),
  hashes: z.partialRecord(z.enum(['md5', 'sha1', 'sha256']), z.string()),
  /** The password of what the file would replace was given when the body came. Absent, of an earlier version: nobody knows. */
  hadPassword: z.boolean().optional(),
  /** That password, sealed. Earlier versions kept none. */
  password: z.string().optional(),
  /** Of the quota, made when the body came. */
  claim: z.string().optional(),
});
export type UploadInput = z.output<typeof uploadShape>;

const progressShape = z.object({
  /** How often a storage that was away was waited for. */
  pauses: z.number().int(),
  /** The file has its name: its body may go. */
  isStored: z.boolean(),
  /** What it is to replace, as it was before the first attempt to store it; null: nothing was there. Absent: not looked for yet, or by an earlier version. */
  before: versionShape.nullable().optional(),
});
type Progress = z.output<typeof progressShape>;
type UploadRun = TaskRun<UploadInput, Progress, null>;

/** Of one upload: the client sends it again if it wants. */
const MAX_RETRIES = 0;
/** A storage that is away, silent or busy is waited for: its client was told that the upload will be stored. These many pauses are half an hour in all. */
const MAX_PAUSES = 35;

/**
 * Stores bodies that one area keeps. The kind bears the area's name: only those who have the area can do the work.
 *
 * @param operationOf the frame of a run, with the rights of today. @param key under which passwords are sealed
 */
export function uploadKind(area: UploadArea, operationOf: (run: UploadRun) => Promise<Operation>, key: Buffer): TaskKind<UploadInput> {
  return defineTaskKind({
    name: `upload-${area.id}`,
    // One list for the uploads of all replicas.
    list: 'upload',
    input: uploadShape,
    checkpoint: progressShape,
    maxRetries: MAX_RETRIES,
    async run(run) {
      let isBegun = false;
      const progress: Progress = { ...(run.checkpoint ?? { pauses: 0, isStored: false }) };
      try {
        await storeBody(run, progress, { area, operationOf, key }, () => {
          isBegun = true;
        });
      } catch (error) {
        const pauses = progress.pauses + 1;
        if (!AppError.is(error) || !isPassing(error) || pauses > MAX_PAUSES) {
          // A retry claims its room anew. Whoever takes over or goes on after a pause has it; what was begun to be stored has ended its claim as it went.
          if (!isBegun && !run.signal.aborted) await giveRoomBack(run, operationOf).catch(() => undefined);
          throw error;
        }
        await run.saveCheckpoint({ ...progress, pauses }, false);
        throw postponed(error.message, backoffMs(pauses));
      }
    },
  });
}

/** Whether the storage may take the same upload later: that it is slow, or has much to do for others, is no reason to give one up. */
function isPassing({ code }: AppError): boolean {
  return ERROR_CODES[code].retry === 'after-backoff';
}

async function giveRoomBack(run: UploadRun, operationOf: (run: UploadRun) => Promise<Operation>): Promise<void> {
  const { claim } = run.input;
  if (claim === undefined) return;
  const { snapshot, actor } = await operationOf(run);
  await snapshot.quotas.end(actor, claim, 0);
}

interface Surroundings {
  readonly area: UploadArea;
  readonly operationOf: (run: UploadRun) => Promise<Operation>;
  readonly key: Buffer;
}

async function storeBody(run: UploadRun, progress: Progress, { area, operationOf, key }: Surroundings, onBegin: () => void): Promise<void> {
  const { input } = run;
  run.progress({ status: 'uploading', phase: 'storing', totalBytes: input.sizeBytes });
  const operation = await operationOf(run);
  const found = progress.isStored || run.attempt === 1 ? undefined : await findStored(operation, input, progress, area);
  if (progress.isStored || (found && !(input.overwrite && found.traits.hasMirrors))) return area.remove(input.file);
  const upload = await beginStoring(operation, input, key);
  const content = await area.read(input.file);
  if (!content) throw new AppError('FAILED_PRECONDITION', 'what was uploaded is not kept any more; upload it again');
  try {
    if (input.overwrite && !found) await requireAsBefore(run, progress, operation);
    onBegin();
    await upload.store(watched(run, content), () => run.assertLease());
  } catch (error) {
    if (!AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
    // A retry would need as much room: the body is not kept for one. Whoever has the task now still needs it.
    await run.assertLease();
    await area.remove(input.file);
    throw error;
  } finally {
    content.destroy();
  }
  // A body that is gone says nothing by itself: it also goes where it found no room, and some time after a failure.
  await run.saveCheckpoint({ ...progress, pauses: 0, isStored: true });
  await area.remove(input.file);
}

async function beginStoring(operation: Operation, input: UploadInput, key: Buffer): Promise<Upload> {
  const { actor } = operation;
  const path = parseVirtualPath(input.path);
  if (!isWithin(actor.basePath, path)) throw denied();
  return beginUpload(operation, {
    path: relativeTo(actor.basePath, path),
    overwrite: input.overwrite,
    password: passwordOf(input, key),
    sizeBytes: input.sizeBytes,
    modifiedAt: new Date(input.modified),
    expectedHashes: input.hashes,
    storage: input.storage,
    claim: input.claim,
  });
}

/** What nothing guarded when the body came may be guarded since, and what was guarded may have another password: the task may wait, or be paused, for long. */
function passwordOf({ hadPassword, password }: UploadInput, key: Buffer): string | undefined {
  if (password !== undefined) return unseal(key, password);
  return hadPassword === false ? '' : undefined;
}

/**
 * Notes what is to be replaced, or requires that it still is what was noted: an earlier attempt may have got as far as giving the file its name, and what has it
 * now be somebody's who saved it since.
 *
 * @throws AppError ENTRY_EXISTS
 */
async function requireAsBefore(run: UploadRun, progress: Progress, operation: Operation): Promise<void> {
  const { there } = await lookAt(operation, run.input);
  if (progress.before === undefined) {
    progress.before = there ? versionOf(there) : null;
    return run.saveCheckpoint(progress, false);
  }
  if (there && !isAsNoted(progress.before, there)) throw savedMeanwhile(baseName(parseVirtualPath(run.input.path)));
}

async function lookAt(operation: Operation, input: UploadInput): Promise<Place & { readonly there: Entry | undefined }> {
  const { mount, path } = locateIn(operation.snapshot, parseVirtualPath(input.path), input.storage);
  const driver = await mount.driver();
  return { driver, path, there: await statIfThere(driver, path, { ...callOf(operation), seesAll: true }) };
}

/** Where an earlier attempt got as far as giving the file its name: size and time alone may be those of the file that it was to replace. */
async function findStored(
  operation: Operation,
  input: UploadInput,
  { before }: Progress,
  area: UploadArea,
): Promise<StorageDriver | undefined> {
  const { driver, path, there } = await lookAt(operation, input);
  if (!there) return undefined;
  const source = { ...there, isDirectory: false, sizeBytes: input.sizeBytes, modifiedAt: new Date(input.modified), hashes: input.hashes };
  const isAsBefore = input.overwrite && isAsNoted(before, there);
  if (isAsBefore ? looksLikeCopy(source, there, driver) === false : !mayBeCopy(source, there)) return undefined;
  const body = await area.read(input.file);
  if (!body) return undefined;
  try {
    return (await hasContent({ driver, path }, async () => body, callOf(operation))) ? driver : undefined;
  } finally {
    body.destroy();
  }
}

async function* watched(run: UploadRun, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let doneBytes = 0;
  for await (const chunk of content) {
    yield chunk;
    doneBytes += chunk.byteLength;
    run.progress({ doneBytes });
  }
}
