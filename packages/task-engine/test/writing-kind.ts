import { z } from 'zod';
import { defineTaskKind } from '../src/index.ts';

/** Tasks that each process of the long queue works on at a time. */
export const PLACES = 4;

/** A task that does one thing that cannot be taken back: it writes its number. */
export const writing = (write: (line: string) => Promise<void>) =>
  defineTaskKind({
    name: 'writing',
    input: z.object({ number: z.number() }),
    maxRetries: 0,
    async run(run) {
      await run.assertLease();
      await write(String(run.input.number));
    },
  });
