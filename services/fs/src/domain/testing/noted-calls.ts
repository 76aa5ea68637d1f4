import type { CallOptions, StorageDriver } from '../../driver-contract/storage-driver.ts';

/** What a call of a storage was given. */
export type NotedCall = Pick<CallOptions, 'caller' | 'isPatient'> & { readonly operation: string; readonly path: unknown };

/** The same driver, whose calls are noted. */
export function noteCalls<Driver extends StorageDriver>(driver: Driver, noted: NotedCall[]): Driver {
  return new Proxy(driver, {
    get(target, operation) {
      const value: unknown = Reflect.get(target, operation);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const options: CallOptions = Object(given.findLast((each) => typeof each === 'object' && each !== null && 'signal' in each));
        noted.push({ operation: String(operation), path: given[0], caller: options.caller, isPatient: options.isPatient });
        return Reflect.apply(value, target, given);
      };
    },
  });
}
