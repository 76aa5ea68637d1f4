/** What is told of a file that is on its way. */
export interface Sending {
  readonly sentBytes?: number;
  /** `trying`: what stopped it may pass, and it goes on by itself. `ending`: the server verifies what it has. */
  readonly doing: 'sending' | 'trying' | 'ending';
  /** What stopped it. */
  readonly error?: unknown;
}

/** One file and where it goes. */
export interface SendJob {
  readonly file: File;
  readonly path: string;
  readonly overwrite: boolean;
  /** By this the server knows what was sent before and whose answer was lost: it is done once, and replaces nothing that was stored since. */
  readonly key: string;
  /** The upload in parts that the server knows it by; undefined: none yet. */
  readonly session: string | undefined;
  readonly signal: AbortSignal;
  readonly tell: (sending: Sending) => void;
  /** Remembers the upload in parts; undefined: there is none any more. */
  readonly keep: (session: string | undefined) => void;
  /** From here on what is there is replaced only where the viewer says so anew, also by another try. @returns a new key */
  readonly askAgain: () => string;
}
