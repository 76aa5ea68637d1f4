import { createFairPlaces } from '@wharf/pace';
import type { Call } from './call.ts';

/** Lets one call go on at a time, or a few, of those that each hold much in memory; users have their turns by turns. One whose caller goes while it waits is not begun. */
export interface OneByOne {
  call<Request, Answer>(handle: (request: Request, call: Call) => Promise<Answer>): (request: Request, call: Call) => Promise<Answer>;
  /** The same, until its caller has all of the answer, or has gone and nothing more is being made. */
  stream<Request, Answer>(
    handle: (request: Request, call: Call) => AsyncIterable<Answer>,
  ): (request: Request, call: Call) => AsyncGenerator<Answer, void>;
}

/** @param atATime calls that go on; of more than one a user has all but one at most */
export function createOneByOne(atATime = 1): OneByOne {
  const places = createFairPlaces(atATime);
  return {
    call: (handle) => (request, call) => places(ownerOf(call), () => handle(request, call), call.signal),
    stream: (handle) =>
      async function* (request, call) {
        const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        let isTaken = false;
        /** What is being made goes on: only who waits to be asked for more is over. */
        const leave = () => {
          if (isTaken) over.resolve();
        };
        const untilOver = () => {
          begun.resolve();
          return over.promise;
        };
        places(ownerOf(call), untilOver, call.signal).catch(begun.reject);
        call.signal.addEventListener('abort', leave, { once: true });
        try {
          await begun.promise;
          for await (const piece of handle(request, call)) {
            isTaken = true;
            if (call.signal.aborted) return;
            yield piece;
            isTaken = false;
          }
        } finally {
          call.signal.removeEventListener('abort', leave);
          over.resolve();
        }
      },
  };
}

const ownerOf = ({ identity }: Call): string => (identity?.kind === 'user' ? `${identity.id}` : '');
