/** Tells admin the status of a storage, and repeats it until admin has answered. Only the newest status of a storage is told. */
export interface StatusReporter {
  report(id: number, status: string): void;
  stop(): void;
}

export interface StatusReporterOptions {
  readonly send: (id: number, status: string) => Promise<unknown>;
  readonly after: (ms: number, run: () => void) => () => void;
  readonly onError: (error: unknown, id: number) => void;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

export function createStatusReporter({ send, after, onError }: StatusReporterOptions): StatusReporter {
  /** What is not told yet, and how to stop waiting for the next try. */
  const pending = new Map<number, { readonly status: string; cancel: () => void }>();
  let isStopped = false;

  const attempt = (id: number, entry: { readonly status: string; cancel: () => void }, pauseMs: number) => {
    send(id, entry.status).then(
      () => {
        if (pending.get(id) === entry) pending.delete(id);
      },
      (error: unknown) => {
        onError(error, id);
        if (isStopped || pending.get(id) !== entry) return;
        entry.cancel = after(pauseMs, () => attempt(id, entry, Math.min(pauseMs * 2, MAX_PAUSE_MS)));
      },
    );
  };
  return {
    report(id, status) {
      pending.get(id)?.cancel();
      const entry = { status, cancel: () => {} };
      pending.set(id, entry);
      attempt(id, entry, FIRST_PAUSE_MS);
    },
    stop() {
      isStopped = true;
      for (const { cancel } of pending.values()) cancel();
    },
  };
}
