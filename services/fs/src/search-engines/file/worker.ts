import { parentPort, workerData } from 'node:worker_threads';
import { runIndexWorker } from './index-worker.ts';

if (parentPort) runIndexWorker(parentPort, String(workerData));
