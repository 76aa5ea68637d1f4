import type { ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { sayWhenToComeAgain } from './retry-after.ts';

/**
 * Uploads and downloads that one process carries at a time. Each may hold some 128 KiB for as long as its client takes nothing: that many hold
 * 256 MiB.
 */
const MAX_TRANSFERS = 2_000;

/** Bounds how many transfers there are at a time. */
export interface TransferLimit {
  /** Counts a transfer until its response has ended. @throws AppError OVERLOADED: there are too many, and the answer says when to come again */
  begin(response: ServerResponse): void;
}

export function createTransferLimit(max = MAX_TRANSFERS): TransferLimit {
  let open = 0;
  return {
    begin(response) {
      if (open >= max) {
        const refusal = new AppError('OVERLOADED', 'too many uploads and downloads at once: try again in a moment');
        sayWhenToComeAgain(response, refusal);
        throw refusal;
      }
      open += 1;
      response.once('close', () => {
        open -= 1;
      });
    },
  };
}
