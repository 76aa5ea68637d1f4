import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { MAX_STORAGE_TEXT_BYTES } from '@wharf/models';
import type { TestStorageRequest, TestStorageResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { Mounts } from '../domain/mounts/mounts.ts';
import { type KeepItem, keptItemOf, type Surroundings } from '../domain/mounts/open-storage.ts';
import { testStorage } from '../domain/mounts/test-storage.ts';
import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import type { DriverRegistry } from '../driver-contract/driver-registry.ts';
import type { InnerMountOptions } from '../driver-contract/open-context.ts';

/** A storage as it is stored, mounted or not. */
export interface SavedStorage {
  readonly id: number;
  /** The driver's name. */
  readonly driver: string;
  /** In clear. Undefined when the stored text cannot be read. */
  readonly addition: string | undefined;
  readonly disabled: boolean;
}

/** What tests of storages need from the service. */
export interface StorageTests {
  findSaved(id: number): Promise<SavedStorage | undefined>;
  readonly egress: Egress;
  readonly given: Pick<Surroundings, 'trail' | 'site'>;
  readonly keepItem: KeepItem;
  readonly openMount: Mounts['openMount'];
  readonly clock: () => number;
  /** Receives what only the log may have. */
  readonly onError: (error: unknown, driver: string) => void;
}

/** admin/storage/test: opens a storage beside the mounts, as it is saved or as the form has it, and says which operations work. */
export const testStorageHandler =
  (registry: DriverRegistry, tests: StorageTests) =>
  async (request: TestStorageRequest, call: Call): Promise<TestStorageResponse> => {
    const saved = request.id === 0 ? undefined : await getSaved(tests, request.id);
    const definition = driverOf(registry, request.driver, saved);
    const addition = checkedAddition(request.addition ?? undefined) ?? (saved ? saved.addition : '');
    const context = { ...contextOf(tests, definition, addition, saved), signal: call.signal };
    const { steps, traits, operations, clockSkewMs, leftBehind } = await testStorage(definition, addition, context, {
      writes: request.write,
      clock: tests.clock,
      onError: context.warn,
    });
    const error = steps.find((step) => step.error !== '')?.error ?? '';
    return {
      works: error === '',
      error,
      steps: steps.map((step) => ({ name: step.name, ok: step.error === '', error: step.error, elapsed_ms: rounded(step.elapsedMs) })),
      traits: JSON.stringify(Object.fromEntries(Object.entries(traits ?? {}).map(([name, value]) => [snakeCase(name), value ?? null]))),
      operations: operations.map(snakeCase),
      clock_skew_ms: clockSkewMs,
      left_behind: [...leftBehind],
    };
  };

/** What could not be saved is not tried either. @throws AppError INVALID_ARGUMENT, in the words of admin */
export function checkedAddition<Text extends string | undefined>(text: Text): Text {
  if (text !== undefined && Buffer.byteLength(text) > MAX_STORAGE_TEXT_BYTES)
    throw new AppError('INVALID_ARGUMENT', `addition is longer than ${MAX_STORAGE_TEXT_BYTES} bytes`, { details: { field: 'addition' } });
  return text;
}

async function getSaved(tests: StorageTests, id: number): Promise<SavedStorage> {
  const saved = await tests.findSaved(id);
  if (!saved) throw new AppError('RECORD_NOT_FOUND', 'failed get storage: record not found');
  return saved;
}

/** Refuses the drivers that admin refuses when a storage is saved. */
export function driverOf(registry: DriverRegistry, asked: string, saved?: SavedStorage): DriverDefinition {
  const name = asked === '' ? (saved?.driver ?? '') : asked;
  if (name === '') throw new AppError('INVALID_ARGUMENT', 'driver is required', { details: { field: 'driver' } });
  if (saved && name !== saved.driver) throw new AppError('FAILED_PRECONDITION', 'driver cannot be changed');
  const definition = registry.findDriver(name);
  const isKnown = definition && (saved !== undefined || !definition.internal);
  if (!isKnown) throw new AppError('RECORD_NOT_FOUND', `failed get driver new: no driver named: ${name}`);
  return definition;
}

/**
 * A driver may renew a token while it is opened, and the old one is void then. So a storage that is tested as it is saved stores the new
 * one. In every other test it stays in memory.
 */
export function contextOf(
  { egress, given, keepItem, openMount, onError }: StorageTests,
  definition: DriverDefinition,
  addition = '',
  saved?: SavedStorage,
) {
  const common = {
    egress,
    ...given,
    warn: (error: unknown) => onError(error, definition.name),
    openMount: (path: string, options: InnerMountOptions) => openMount(saved?.id ?? 0, path, options),
  };
  if (!saved || saved.disabled || !isSame(definition, addition, saved.addition)) return { ...common, storageId: 0 };
  const configured = { definition, addition };
  const keptItem = (name: string) => keptItemOf(configured, name, (before, after) => keepItem(saved.id, name, before, after));
  return { ...common, storageId: saved.id, keptItem };
}

function isSame(definition: DriverDefinition, one: string, other: string | undefined): boolean {
  try {
    return other !== undefined && definition.normaliseAddition(one) === definition.normaliseAddition(other);
  } catch {
    return false;
  }
}

const rounded = (ms: number) => Math.round(ms * 1000) / 1000;
const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
