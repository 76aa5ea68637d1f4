import { startWorker } from '../workers.ts';
import workerAddress from './part-worker.ts?worker&url';
import { type BodyAnswer, type SendBody, sendBody, type Watch } from './send-body.ts';

/** What a thread is asked. */
export interface ToThread {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly part: Blob;
}

/** What it tells, in the end an answer or an error. */
export type FromThread = { readonly sentBytes: number } | { readonly answer: BodyAnswer } | { readonly error: unknown };

interface Thread {
  readonly worker: Worker;
  begun: number;
  underWay: number;
}

/** Of Chromium, 8 MiB each, that is 130 MiB above rest at most. */
const PARTS_OF_A_THREAD = 8;

/** The thread that takes the next part. */
let taking: Thread | undefined;

/**
 * Sends a part from a thread that ends after some of them. What a browser has read and sent stays in memory until its garbage is collected, and it
 * does not count the bodies of requests when it decides whether to: of 4 GiB one gathered 0.9 in the page itself. A thread that ends gives all of it back.
 */
export const sendInThread: SendBody<Blob> = async (address, headers, part, watch) => {
  watch.signal.throwIfAborted();
  taking ??= { worker: startWorker(workerAddress), begun: 0, underWay: 0 };
  const thread = taking;
  thread.begun += 1;
  thread.underWay += 1;
  if (thread.begun === PARTS_OF_A_THREAD) taking = undefined;
  try {
    const told = await ask(thread.worker, { address, headers, part }, watch);
    // Its script is that of another version by now: the page was open while the server was replaced.
    return told ?? (await sendBody(address, headers, await part.arrayBuffer(), watch));
  } finally {
    thread.underWay -= 1;
    if (thread.underWay === 0) {
      thread.worker.terminate();
      if (taking === thread) taking = undefined;
    }
  }
};

/** @returns undefined: the thread did not start */
function ask(worker: Worker, asked: ToThread, { signal, onProgress }: Watch): Promise<BodyAnswer | undefined> {
  const { port1, port2 } = new MessageChannel();
  return new Promise<BodyAnswer | undefined>((resolve, reject) => {
    const end = () => {
      port1.close();
      worker.removeEventListener('error', fail);
      signal.removeEventListener('abort', leave);
    };
    const fail = () => {
      end();
      resolve(undefined);
    };
    const leave = () => {
      port1.postMessage(undefined);
      end();
      reject(signal.reason);
    };
    worker.addEventListener('error', fail);
    signal.addEventListener('abort', leave);
    port1.addEventListener('message', ({ data }: MessageEvent<FromThread>) => {
      if ('sentBytes' in data) return onProgress(data.sentBytes);
      end();
      if ('answer' in data) resolve(data.answer);
      else reject(data.error);
    });
    port1.start();
    worker.postMessage(asked, [port2]);
  });
}
