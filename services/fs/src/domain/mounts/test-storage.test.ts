import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { stringItem } from '../../driver-contract/config-items.ts';
import { type DriverDefinition, defineDriver } from '../../driver-contract/define-driver.ts';
import { NO_EGRESS, type OpenContext } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { localDriver } from '../../drivers/local/index.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { bytesOf } from '../testing/memory-tree.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { guardDataFolder } from './data-folder-guard.ts';
import { type TestOptions, testStorage } from './test-storage.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const errors: unknown[] = [];

function run(
  definition: DriverDefinition,
  addition = '{}',
  { context = {}, ...options }: Partial<TestOptions> & { context?: Partial<OpenContext> } = {},
) {
  const onError = (error: unknown) => void errors.push(error);
  const quiet = { storageId: 0, egress: NO_EGRESS, warn: onError, ...context };
  return testStorage(definition, addition, quiet, { writes: true, clock: () => NOW, onError, ...options });
}

/** A storage in memory that differs in some operations. */
function memoryWith(change: (store: MemoryDriver, storage: StorageDriver) => Partial<StorageDriver>) {
  const store = new MemoryDriver();
  let closed = 0;
  const close = async () => {
    closed += 1;
  };
  const definition = defineDriver({
    name: 'Changed',
    label: 'Changed',
    configSchema: z.object({ password: stringItem({ secret: true }) }),
    open: async () => decorated({ ...operationsOf(store), close, ...change(store, store) }),
  });
  return { definition, store, closed: () => closed };
}

const namesIn = async (store: MemoryDriver) => (await Array.fromAsync(store.list(MOUNT_ROOT))).map(({ name }) => name);
const stepsOf = ({ steps }: Awaited<ReturnType<typeof run>>) => steps.map(({ name, error }) => (error === '' ? name : `${name}: ${error}`));
/** As a driver that hangs until its call is aborted. */
const hang = (signal: AbortSignal | undefined) =>
  new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new AppError('CANCELLED', 'cancelled'))));

describe('a test of a storage', () => {
  it('looks at the root, and without being asked to writes nothing', async () => {
    const driver = createTestDriver('Test', [], {});
    driver.beforeCalls(async () => {});
    const test = await run(driver.definition, '{}', { writes: false });
    expect(stepsOf(test)).toEqual(['open', 'list']);
    expect(test).toMatchObject({ traits: { maxNameBytes: 255, exclusiveCreate: true }, clockSkewMs: undefined, leftBehind: [] });
    expect(driver.counts()).toEqual({ opened: 1, closed: 1 });
  });

  it('with a file tries all that the storage can do, and leaves nothing', async () => {
    const driver = createTestDriver('Test');
    driver.linkBy(() => ({ url: 'https://files.example/x' }));
    const test = await run(driver.definition);
    expect(stepsOf(test)).toEqual(['open', 'list', 'write', 'stat', 'read', 'link', 'copy', 'rename', 'remove']);
    expect(test.operations).toEqual(
      expect.arrayContaining(['stat', 'list', 'read', 'write', 'makeDirectory', 'remove', 'rename', 'copy', 'link', 'statMany']),
    );
    expect(test.operations).not.toContain('close');
    expect(test.clockSkewMs).toBeUndefined();
    expect(await namesIn(driver.storeOf())).toEqual([]);
    expect(driver.counts()).toEqual({ opened: 1, closed: 1 });
  });

  it('tries nothing that the storage cannot do', async () => {
    const poor = createTestDriver('Poor', ['rename', 'copy', 'statMany']);
    const test = await run(poor.definition);
    expect(stepsOf(test)).toEqual(['open', 'list', 'write', 'stat', 'read', 'remove']);
    expect(test.operations).not.toContain('copy');
    expect(stepsOf(await run(createTestDriver('Reading', ['write']).definition))).toEqual(['open', 'list']);
  });

  it('writes nothing that it could not remove', async () => {
    const driver = createTestDriver('Test', ['remove']);
    expect(stepsOf(await run(driver.definition))).toEqual(['open', 'list']);
    expect(await namesIn(driver.storeOf())).toEqual([]);
  });

  it('says why the storage cannot be opened', async () => {
    const driver = createTestDriver('Test');
    driver.onOpen(() => Promise.reject(new AppError('STORAGE_LOGIN_FAILED', 'the password is wrong')));
    const test = await run(driver.definition);
    expect(stepsOf(test)).toEqual(['open: the password is wrong']);
    expect(test).toMatchObject({ traits: undefined, operations: [], leftBehind: [] });
  });

  it('ends in time when opening hangs, and closes what opens later', async () => {
    const driver = createTestDriver('Test');
    const { promise, resolve } = Promise.withResolvers<void>();
    driver.onOpen(() => promise);
    const test = await run(driver.definition, '{}', { limits: { testMs: 5, cleanUpMs: 5 } });
    expect(stepsOf(test)).toEqual(['open: the storage did not answer in time']);
    resolve();
    await expect.poll(() => driver.counts()).toEqual({ opened: 1, closed: 1 });
  });

  it('that loses its caller begins nothing more, and removes its file', async () => {
    const gone = new AbortController();
    const { definition, store, closed } = memoryWith((files) => ({
      stat: async (_path, options) => {
        expect(await namesIn(files)).toHaveLength(1);
        gone.abort();
        return hang(options?.signal);
      },
    }));
    expect(stepsOf(await run(definition, '{}', { context: { signal: gone.signal } }))).toEqual([
      'open',
      'list',
      'write',
      'stat: cancelled',
      'remove',
    ]);
    expect(await namesIn(store)).toEqual([]);
    expect(closed()).toBe(1);
  });

  it('gives up a write that hangs, and says that its file may be there when the storage does not answer the removal either', async () => {
    const gone = new AbortController();
    const { definition, closed } = memoryWith(() => ({
      write(_file, _content, { signal }) {
        queueMicrotask(() => gone.abort());
        return hang(signal);
      },
      remove: (_path, { signal }) => hang(signal),
    }));
    const test = await run(definition, '{}', { context: { signal: gone.signal }, limits: { testMs: 60_000, cleanUpMs: 5 } });
    expect(stepsOf(test)).toEqual(['open', 'list', 'write: cancelled', 'remove: the storage did not answer in time']);
    expect(test.leftBehind).toEqual([expect.stringMatching(/^wharf-test-[0-9a-f-]{36}\.tmp$/)]);
    expect(closed()).toBe(1);
  });

  it('leaves nothing where the write fails, nor where it fails after the file is there', async () => {
    const driver = createTestDriver('Test');
    driver.failWrites(() => true);
    expect(stepsOf(await run(driver.definition))).toEqual(['open', 'list', 'write: the storage is full']);
    const { definition, store } = memoryWith((files) => ({
      async write(file, content, options) {
        await files.write(file, content, options);
        throw new AppError('STORAGE_UNAVAILABLE', 'gone away');
      },
    }));
    expect(stepsOf(await run(definition))).toEqual(['open', 'list', 'write: gone away']);
    expect(await namesIn(store)).toEqual([]);
  });

  it('says of one step that it fails, and takes the others', async () => {
    const { definition, store } = memoryWith((files) => ({
      read: async (file, range) => ({ entry: (await files.read(file, range)).entry, [Symbol.asyncIterator]: () => bytesOf('other') }),
      copy: () => Promise.reject(new TypeError('a mistake of ours')),
    }));
    expect(stepsOf(await run(definition))).toEqual([
      'open',
      'list',
      'write',
      'stat',
      'read: other bytes came back than were written',
      'copy: internal error',
      'rename',
      'remove',
    ]);
    expect(errors).toContainEqual(new TypeError('a mistake of ours'));
    expect(await namesIn(store)).toEqual([]);
  });

  it('names what it could not remove', async () => {
    const { definition, store } = memoryWith(() => ({ remove: () => Promise.reject(new AppError('PERMISSION_DENIED', 'not allowed')) }));
    const test = await run(definition);
    expect(stepsOf(test).at(-1)).toBe('remove: not allowed');
    expect(test.leftBehind.toSorted()).toEqual((await namesIn(store)).toSorted());
    expect(test.leftBehind).toHaveLength(2);
  });

  it.each([
    ['ahead', 90_000, 90_000],
    ['behind', -3_600_000, -3_600_000],
    ['right', 0, 0],
  ])('tells the clock of a storage that sets its own times: %s', async (_how, offsetMs, skewMs) => {
    const { definition } = memoryWith((files) => ({
      traits: { ...files.traits, modTimeStepMs: undefined },
      write: async (file, content, options) => files.write(file, content, { ...options, modifiedAt: new Date(NOW + offsetMs) }),
    }));
    expect((await run(definition)).clockSkewMs).toBe(skewMs);
  });

  it('repeats no secret that an error names', async () => {
    const { definition } = memoryWith(() => ({
      write: () => Promise.reject(new AppError('STORAGE_LOGIN_FAILED', 'hunter2 is not the password of x, nor is hunter2')),
    }));
    const test = await run(definition, '{"password":"hunter2"}');
    expect(stepsOf(test).at(-1)).toBe('write: *** is not the password of x, nor is ***');
    expect(JSON.stringify(test)).not.toContain('hunter2');
  });

  it('leaves the words of an error that only hold a short secret, or a part of one', async () => {
    const { definition } = memoryWith(() => ({
      write: () => Promise.reject(new AppError('STORAGE_LOGIN_FAILED', 'a: no access; "a" is not the password')),
    }));
    expect(stepsOf(await run(definition, '{"password":"a"}')).at(-1)).toBe('write: ***: no access; "***" is not the password');
  });

  it('says of settings that cannot be what is wrong with them', async () => {
    expect(stepsOf(await run(localDriver, '[]'))).toEqual(['open: addition is not a JSON object']);
    expect(stepsOf(await run(localDriver))).toEqual(['open: root_folder_path is required']);
    expect(
      stepsOf(
        await testStorage(
          localDriver,
          undefined,
          { storageId: 1, egress: NO_EGRESS, warn: () => {} },
          {
            ...{ writes: true, clock: () => NOW, onError: () => {} },
          },
        ),
      ),
    ).toEqual(['open: the stored settings of the storage cannot be read']);
  });
});

describe('a test of a folder of this machine', () => {
  let dir: Awaited<ReturnType<typeof makeTempDir>>;
  const additionOf = (folder: string) => JSON.stringify({ root_folder_path: join(dir.path, folder), thumbnail: false });
  beforeAll(async () => {
    dir = await makeTempDir('test-storage');
    await mkdir(join(dir.path, 'files'));
    await mkdir(join(dir.path, 'data'));
  });
  afterAll(() => dir?.remove());

  it('works, and leaves the folder as it was', async () => {
    expect(stepsOf(await run(localDriver, additionOf('files')))).toEqual([
      ...['open', 'list', 'write', 'stat', 'read', 'copy', 'rename', 'remove'],
    ]);
    expect(await readdir(join(dir.path, 'files'))).toEqual([]);
  });

  it('says that the folder is not there', async () => {
    expect(stepsOf(await run(localDriver, additionOf('missing')))).toEqual([`open: root folder ${join(dir.path, 'missing')} not exists`]);
  });

  it('is refused where Wharf has its own data', async () => {
    const guarded = guardDataFolder(localDriver, join(dir.path, 'data'), []);
    expect(stepsOf(await run(guarded, additionOf('data')))).toEqual([
      expect.stringMatching(/^open: .* would show Wharf's own data folder/),
    ]);
    expect(await readdir(join(dir.path, 'data'))).toEqual([]);
  });
});
