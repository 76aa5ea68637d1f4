import type { TestContext } from 'vitest';
import type { OptionalOperation, StorageDriver } from '../storage-driver.ts';

export type Able<Ops extends OptionalOperation> = StorageDriver & Required<Pick<StorageDriver, Ops>>;
export type Body<Ops extends OptionalOperation> = (driver: Able<Ops>, test: TestContext) => Promise<void>;
export type Rule = <const Ops extends OptionalOperation>(title: string, operations: readonly Ops[], body: Body<Ops>) => void;
