/** So many at once, in the order in which they came. */
export interface Places {
  /** Resolves with what gives the place back. Rejects with the signal's reason. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createPlaces(count: number): Places {
  const queue: (() => void)[] = [];
  let free = count;
  const giveBack = () => {
    const next = queue.shift();
    if (next) next();
    else free += 1;
  };
  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return giveBack;
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          queue.splice(queue.indexOf(enter), 1);
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        queue.push(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
      return giveBack;
    },
  };
}
