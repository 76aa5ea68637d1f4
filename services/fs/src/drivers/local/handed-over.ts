import type { DiskOperations } from './disk-operations.ts';

/** Memory of these goes from one thread to the other as it is: of many files it would cost more to copy it. */
const HANDS_OVER: ReadonlySet<keyof DiskOperations> = new Set(['readMany', 'writeMany']);

/** What of the values of a call, or of its answer, belongs to the other thread once it is sent. */
export function handedOver(operation: keyof DiskOperations, values: object): ArrayBuffer[] {
  if (!HANDS_OVER.has(operation)) return [];
  return Object.values(values).flatMap((value: unknown) =>
    value instanceof Uint8Array && value.buffer instanceof ArrayBuffer ? [value.buffer] : [],
  );
}
