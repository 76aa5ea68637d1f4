import type { FaultProxy } from '@wharf/harness';
import type { OptionalOperation, StorageDriver } from '../storage-driver.ts';

/** A new, empty storage with what a test knows of it past its driver. */
export interface StorageUnderTest {
  readonly driver: StorageDriver;
  /** Puts empty files there past the driver, with the folders above them. */
  readonly seed?: (paths: readonly string[]) => Promise<void>;
  /** What our own half-done work has left in it: temporary names, uploads in parts. Asked after each rule; it must come down to nothing. */
  readonly leftovers?: () => Promise<readonly string[]>;
  /** Connections that its server has. Asked after the driver was closed; it must come down to none. */
  readonly connections?: () => Promise<number>;
  /** Opens the same storage once more, by a way that can be made bad. */
  readonly throughFaults?: () => Promise<FaultyWay>;
}

export interface FaultyWay {
  readonly driver: StorageDriver;
  /** Between that driver and its server. */
  readonly way: FaultProxy;
}

export type Able<Ops extends OptionalOperation> = StorageDriver & Required<Pick<StorageDriver, Ops>>;
export type Body<Ops extends OptionalOperation> = (driver: Able<Ops>, side: StorageUnderTest) => Promise<void>;
export type Rule = <const Ops extends OptionalOperation>(title: string, operations: readonly Ops[], body: Body<Ops>) => void;
