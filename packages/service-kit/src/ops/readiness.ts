/** Whether this process should get work: every part works and it is not stopping. */
export interface Readiness {
  /** Adds a part that must work. The check must be quick and must not throw. */
  require(part: string, isWorking: () => boolean): void;
  /** Every part, and whether it works now. */
  parts(): ReadonlyMap<string, boolean>;
  /** Names of the parts that do not work now; `stopping` once drain() was called. */
  missing(): string[];
  /** Says for good that no more work is wanted. */
  drain(): void;
}

export function createReadiness(): Readiness {
  const parts = new Map<string, () => boolean>();
  let isStopping = false;
  return {
    require(part, isWorking) {
      parts.set(part, isWorking);
    },
    parts: () => new Map([...parts].map(([part, isWorking]) => [part, isWorking()])),
    missing() {
      const missing = [...parts].filter(([, isWorking]) => !isWorking()).map(([part]) => part);
      return isStopping ? ['stopping', ...missing] : missing;
    },
    drain() {
      isStopping = true;
    },
  };
}
