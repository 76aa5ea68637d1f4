import type { ServerResponse } from 'node:http';
import type { FaultProxy } from '@wharf/harness';
import type { OptionalOperation, StorageDriver } from '../storage-driver.ts';

/** A new, empty storage with what a test knows of it past its driver. */
export interface StorageUnderTest {
  readonly driver: StorageDriver;
  /** Puts empty files there past the driver, with the folders above them. */
  readonly seed?: (paths: readonly string[]) => Promise<void>;
  /** It has the long folders already, is shared by all who only read of it, and nobody else changes it. */
  readonly isStanding?: true;
  /** What our own half-done work has left in it: temporary names, uploads in parts. Asked after each rule; it must come down to nothing. */
  readonly leftovers?: () => Promise<readonly string[]>;
  /** Connections that its server has. Asked after the drivers of a group of rules were closed; it must come down to none. */
  readonly connections?: () => Promise<number>;
  /** Opens the same storage once more, by a way that can be made bad. */
  readonly throughFaults?: () => Promise<FaultyWay>;
  /** Of a driver that speaks HTTP with its server. */
  readonly web?: WebServer;
  /** Opens the same storage with a login that its server refuses; it has this secret. */
  readonly badLogin?: { readonly secret: string; open(): Promise<StorageDriver> };
}

/** The server of a storage, which is reached by HTTP. */
export interface WebServer {
  /** Its address, by plain HTTP. */
  readonly url: string;
  /** What nobody but the server may get. */
  readonly secrets: readonly string[];
  /** Opens the same storage at another address, where something passes on to the server what it wants to. @param trust absent: TLS is verified */
  open(url: string, trust?: 'any certificate'): Promise<StorageDriver>;
  /** Answers as the server does when a login is over that it took before. */
  refuseLogin(response: ServerResponse): void;
}

export interface FaultyWay {
  readonly driver: StorageDriver;
  /** Between that driver and its server. */
  readonly way: FaultProxy;
}

export type Able<Ops extends OptionalOperation> = StorageDriver & Required<Pick<StorageDriver, Ops>>;
export type Body<Ops extends OptionalOperation> = (driver: Able<Ops>, side: StorageUnderTest) => Promise<void>;
/** @param kind `reading`: it changes nothing but by `longFolder` */
export type Rule = <const Ops extends OptionalOperation>(
  title: string,
  operations: readonly Ops[],
  body: Body<Ops>,
  kind?: 'reading',
) => void;
