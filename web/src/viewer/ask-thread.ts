import { startWorker } from '../workers.ts';

/** What a thread tells: that it has begun, and then its answer to the one question that it was sent. */
export type FromThread<Answer> = 'ready' | { readonly answer: Answer };

/** How long a thread may take for one file, in milliseconds: some cost it far more than their length, or have no end. */
const MAX_MS = 3_000;

/**
 * Has a thread make something of what somebody else wrote, and ends the thread.
 *
 * @param address as startWorker() has it. @returns undefined: not in time, or not at all
 */
export async function askThread<Answer>(address: string, question: unknown, transferred: Transferable[] = []): Promise<Answer | undefined> {
  const worker = startWorker(address);
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise<Answer | undefined>((resolve) => {
      worker.addEventListener('error', () => resolve(undefined));
      worker.addEventListener('message', ({ data }: MessageEvent<FromThread<Answer>>) => {
        if (data !== 'ready') return resolve(data.answer);
        timer = setTimeout(() => resolve(undefined), MAX_MS);
        worker.postMessage(question, transferred);
      });
    });
  } finally {
    clearTimeout(timer);
    worker.terminate();
  }
}
