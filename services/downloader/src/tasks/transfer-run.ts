import { parseVirtualPath } from '@wharf/paths';
import type { TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import { DELETE_POLICIES } from '../domain/download-input.ts';

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
  /** All of it is in the tree: what is not there any more was removed by whoever stored it. */
  isStored: z.boolean().optional(),
  /** What the result was when the first file of it was stored; left out by earlier versions. */
  state: z.string().optional(),
});
type SavedTransfer = z.output<typeof savedTransfer>;
/** Where there is no checkpoint. */
export const BEGINNING: SavedTransfer = { index: 0, sessionId: '' };

export type TransferRun = Pick<
  TaskRun<TransferInput, SavedTransfer, null>,
  'input' | 'creator' | 'signal' | 'logger' | 'progress' | 'checkpoint' | 'saveCheckpoint' | 'assertLease'
>;
