import type { ServerResponse } from 'node:http';
import type { Certificate, FaultProxy } from '@wharf/harness';
import type { KeptItem } from '../kept-item.ts';
import type { OptionalOperation, StorageDriver } from '../storage-driver.ts';

/** A new, empty storage with what a test knows of it past its driver. */
export interface StorageUnderTest {
  readonly driver: StorageDriver;
  /** Puts empty files there past the driver, with the folders above them. */
  readonly seed?: (paths: readonly string[]) => Promise<void>;
  /** Puts a file in a folder whose name is no UTF-8: most drivers cannot list it. @returns what reads it, past the driver: `precious` */
  readonly seedUnlistable?: (directory: string) => Promise<() => Promise<string>>;
  /** Takes the folder that is the storage away, as where its disk is not mounted. @returns what brings it back */
  readonly takeRootAway?: () => Promise<() => Promise<void>>;
  /** It has the long folders already, is shared by all who only read of it, and nobody else changes it. */
  readonly isStanding?: true;
  /** What our own half-done work has left in it: temporary names, uploads in parts. Asked after each rule; it must come down to nothing. */
  readonly leftovers?: () => Promise<readonly string[]>;
  /** Connections that its server has. Asked after the drivers of all rules were closed; it must come down to none. */
  readonly connections?: () => Promise<number>;
  /** Opens the same storage once more, by a way that can be made bad. */
  readonly throughFaults?: () => Promise<FaultyWay>;
  /** Of a driver that speaks HTTP with its server. */
  readonly web?: WebServer;
  /** Of a driver that speaks TLS, but not HTTP. */
  readonly tls?: TlsSide;
  /** Of a driver whose servers are known by a key: starts one, until the rule ends. */
  readonly startKeyed?: () => Promise<HostKeyServer>;
  /** Opens the same storage with a login that its server refuses; it has this secret. */
  readonly badLogin?: { readonly secret: string; open(): Promise<StorageDriver> };
}

/** The server of a storage, which is reached by HTTP. */
export interface WebServer {
  /** Its address, by plain HTTP. */
  readonly url: string;
  /** What nobody but the server may get. */
  readonly secrets: readonly string[];
  /** Opens the same storage at another address, where something passes on to the server what it wants to. @param trust absent: the public authorities alone */
  open(url: string, trust?: Trust): Promise<StorageDriver>;
  /** Answers as the server does when a login is over that it took before. */
  refuseLogin(response: ServerResponse): void;
}

/** Whom a storage trusts beside the public authorities. @param certificate PEM, of a server or of who signed it */
export type Trust = 'any certificate' | { readonly certificate: string };

/** How a storage is reached by TLS. */
export interface TlsSide {
  /** What nobody but the server may get. */
  readonly secrets: readonly string[];
  /** Starts a server with such a storage that shows this certificate, until the rule ends. */
  start(certificate: Certificate): Promise<TlsServer>;
}

interface TlsServer {
  /** @param trust absent: the public authorities alone */
  open(trust?: Trust): Promise<StorageDriver>;
  /** Whether it was told what TLS is there to keep. */
  isSpokenTo(): Promise<boolean>;
}

/** A server that is known by its key, with an empty storage. */
export interface HostKeyServer {
  /** What its login must not be told to others. */
  readonly secret: string;
  /** Of its key, as the driver keeps it. */
  fingerprint(): string;
  /** It ends, and comes back with another key; what is stored stays. */
  changeKey(): Promise<void>;
  /** How many logins it decided since it was started or came back. */
  logins(): number;
  /** How many it has now. */
  connections(): Promise<number>;
  open(kept: KeptItem): Promise<StorageDriver>;
}

export interface FaultyWay {
  readonly driver: StorageDriver;
  /** Between that driver and its server. */
  readonly way: FaultProxy;
  /** How many connections the driver keeps at most to use them again, when nothing is under way. */
  readonly keeps: number;
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
