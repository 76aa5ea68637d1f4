import type { StorageRecord } from '@wharf/models';
import { inSpan, NO_TRACING, streamInSpan, type Tracing } from '@wharf/service-kit';
import type { CallSpans } from '../driver-contract/with-spans.ts';

/** The calls of a storage as spans of the request or task that makes them; undefined where there are no traces. */
export function storageSpans(tracing: Tracing, { driver, _id }: StorageRecord): CallSpans | undefined {
  if (tracing === NO_TRACING) return undefined;
  const options = { facts: { 'wharf.driver': driver, 'wharf.storage': _id } };
  return {
    call: (operation, run) => inSpan(tracing, `${driver} ${operation}`, options, run),
    stream: (operation, start) => streamInSpan(tracing, `${driver} ${operation}`, options, start),
  };
}
