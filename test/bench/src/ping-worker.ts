// Pings a server again and again over one connection and tells the longest wait of each stretch that it is asked for.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { base } = workerData as { base: string };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
/** Between an answer and the next question, in milliseconds: as close as it gets without being a load of its own. */
const PAUSE_MS = 2;

let longestMs = 0;
let askedAt = performance.now();

// A ping that is still not answered has waited too.
parentPort?.on('message', () => {
  parentPort?.postMessage(Math.max(longestMs, performance.now() - askedAt));
  longestMs = 0;
});

for (;;) {
  askedAt = performance.now();
  await new Promise<void>((resolve) => {
    const settle = () => resolve();
    // A server that was stopped answers no more.
    request(`${base}/ping`, { agent }, (response) => response.resume().once('close', settle))
      .once('error', settle)
      .end();
  });
  longestMs = Math.max(longestMs, performance.now() - askedAt);
  await delay(PAUSE_MS);
  askedAt = performance.now();
}
