import { unlessAborted } from '@wharf/pace';
import type { Lane, Leave } from '../driver-contract/lane.ts';

/** Who waits for a thumbnail. */
export interface Asker {
  readonly signal: AbortSignal;
  readonly caller: string | undefined;
}

/** The turn of work that several wait for: each of them queues for it, and it is whichever turn comes first. So nobody waits behind all that another one has asked for. */
export interface JointTurn {
  /** Queues for one more, as long as that one waits and the turn has not come. */
  join(asker: Asker): void;
  /** Resolves when the turn has come. @throws the reason of the signal */
  come(signal: AbortSignal): Promise<void>;
  /** Gives it back, or queues no more. Safe twice. */
  end(): void;
}

export function createJointTurn(lane: Lane): JointTurn {
  const over = new AbortController();
  const turn = Promise.withResolvers<Leave>();
  const take = (leave: Leave) => {
    if (over.signal.aborted) return leave();
    turn.resolve(leave);
    over.abort();
  };
  return {
    join({ signal, caller }) {
      // It fails for whoever leaves, and for the others once a turn has come.
      lane.enter({ signal: AbortSignal.any([signal, over.signal]), caller }).then(take, () => undefined);
    },
    async come(signal) {
      await unlessAborted(signal, turn.promise);
    },
    end() {
      over.abort();
      void turn.promise.then((leave) => leave());
    },
  };
}
