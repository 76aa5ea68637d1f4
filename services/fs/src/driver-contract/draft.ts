import type { BeforePublish, CallOptions, Entry, PlaceOptions } from './storage-driver.ts';

/** Ids of drafts are made by us: 32 hexadecimal digits. */
const DRAFT_ID = /^[0-9a-f]{32}$/;

export interface DraftOptions extends CallOptions {
  /** Makes the draft; false: opens the one that was made under this id, by whatever process. */
  readonly create: boolean;
}

export interface PublishOptions extends PlaceOptions {
  readonly modifiedAt?: Date | undefined;
  readonly beforePublish?: BeforePublish | undefined;
}

/**
 * A file without a name, put together from ranges in any order. It outlives the process that made it, until it is published or discarded; one
 * that nobody wrote to for two days may go.
 */
export interface Draft {
  /**
   * Writes content from an offset on, also in parallel for other ranges. A piece of it is only lent until the next one is asked for.
   * @returns the bytes written; after a failure the range is undefined
   */
  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, options?: CallOptions): Promise<number>;
  /** Makes durable what was written. */
  sync(): Promise<void>;
  /** Bytes up to the last that was written. */
  sizeBytes(): Promise<number>;
  /** All bytes from the start. A chunk is only lent until the next one is asked for. */
  read(options?: CallOptions): AsyncIterable<Uint8Array>;
  /**
   * Gives the file the name it was opened for, durably. The draft is gone then.
   * @throws ENTRY_EXISTS (the draft stays) | IS_A_DIRECTORY
   */
  publish(options: PublishOptions): Promise<Entry>;
  /** Removes it. Nothing there is success. */
  discard(): Promise<void>;
  /** Lets go of it; it stays. Safe twice. */
  close(): Promise<void>;
}

export function isDraftId(text: string): boolean {
  return DRAFT_ID.test(text);
}
