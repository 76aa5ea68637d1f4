/** What a tool says about a download. Everything in it is hostile input: names of files are not taken from here. */
export interface ToolStatus {
  readonly state: 'active' | 'paused' | 'complete' | 'failed';
  readonly doneBytes: number;
  /** 0: not known. */
  readonly totalBytes: number;
  /** For people. */
  readonly detail: string;
  /** Why it failed. */
  readonly error: string;
  /** The id of the download that goes on in the place of this one, such as the content of a torrent file or a magnet link. */
  readonly followedBy?: string;
}

/** What a tool is to fetch, vetted. */
export type ToolSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'magnet'; readonly url: string; readonly hash: string; readonly v2Hash?: string }
  | { readonly kind: 'torrent'; readonly content: Buffer; readonly hash: string; readonly v2Hash?: string }
  | { readonly kind: 'metalink'; readonly content: Buffer };

/** A program that downloads for us into a folder that we can read too. All calls throw what its client throws. */
export interface ExternalTool {
  /** As clients know it. */
  readonly name: string;
  readonly kinds: ReadonlySet<ToolSource['kind']>;
  /** Its downloads pass through the replica that began them and end with that replica. Begun again in the same folder, they go on. */
  readonly needsReplica: boolean;
  /**
   * Chooses the id of a download that is about to begin, where the tool lets us. The id is stored first, so the download is found although
   * the process dies before the tool answers.
   */
  newId?(source: ToolSource): string | undefined;
  /**
   * Looks before anything is begun, where {@link add} leaves nothing of ours in the tool when it refuses.
   * @throws AppError FAILED_PRECONDITION: the tool has it already, in another folder
   */
  requireNew?(source: ToolSource, directory: string, signal: AbortSignal): Promise<void>;
  /**
   * Begins a download into a folder of its own, or finds the one that was begun there. @param id of {@link newId}
   * @returns the id by which it is found again
   */
  add(source: ToolSource, directory: string, signal: AbortSignal, id?: string): Promise<string>;
  /** Undefined when the tool does not know it (any more) in this folder of ours: torrents go by hashes, which others may have there too. */
  find(id: string, directory: string, signal: AbortSignal): Promise<ToolStatus | undefined>;
  pause(id: string, signal: AbortSignal): Promise<void>;
  resume(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Forgets it. One that is not there, or in another folder than this one of ours, is success.
   * @param deletesFiles of what is given up: a tool may keep what is not complete in a folder of its own, where nobody else would remove it. Else files stay.
   */
  remove(id: string, directory: string, signal: AbortSignal, deletesFiles?: boolean): Promise<void>;
  /** The same of whatever downloads into a folder of ours: of an `add` whose id nobody heard. It may have been told a moment ago. */
  removeFrom(directory: string, signal: AbortSignal, deletesFiles?: boolean): Promise<void>;
  version(signal: AbortSignal): Promise<string>;
}

/** Takes a download that is given up out of its tool, with what it has there. @param id empty: nobody heard it */
export async function takeOut(tool: ExternalTool, id: string, directory: string, signal: AbortSignal): Promise<void> {
  await (id === '' ? tool.removeFrom(directory, signal, true) : tool.remove(id, directory, signal, true));
}
