import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import type { EntryName } from '@wharf/paths';
import { PERMISSION } from '@wharf/rights';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { cryptDriver } from '../../drivers/crypt/index.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { withMany } from '../../drivers/memory/with-many.ts';
import { NO_QUOTAS, type Quotas } from '../quota/quota.ts';
import { openLimited } from '../testing/limited-storage.ts';
import { actor, bytesOf, openTree, vpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { makeDirectory } from './operations/make-directory.ts';
import type { Operation } from './operations/operation.ts';
import { placeEntries } from './operations/place-entries.ts';
import { beginUpload, type Upload, type UploadRequest } from './upload.ts';

const request = (path: string, rest: Partial<UploadRequest> = {}): UploadRequest => ({
  path,
  overwrite: true,
  password: '',
  sizeBytes: undefined,
  modifiedAt: undefined,
  expectedHashes: {},
  ...rest,
});
const DENIED = ['PERMISSION_DENIED', 'permission denied'];
const nobody = actor({ permission: 0 });

describe('small uploads to a storage that takes several files in one call', () => {
  async function openMany(quotas?: Quotas, beforeWriting = () => {}) {
    const written: string[][] = [];
    const store = createTestDriver('Many');
    const definition: DriverDefinition = {
      ...store.definition,
      async open(...given) {
        const driver = withMany(await store.definition.open(...given));
        const writeMany: StorageDriver['writeMany'] = async (files, options) => {
          written.push(files.map(({ file }) => file));
          beforeWriting();
          return (await driver.writeMany?.(files, options)) ?? [];
        };
        return { ...driver, writeMany };
      },
    };
    const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Many' }], ...(quotas && { quotas }) });
    return { memory, written };
  }

  it('get no name where they waited for their turn, and whoever sent one may no more', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { memory } = await openMany(undefined, () => void vi.advanceTimersByTime(3_000));
    const store = async (path: string, renewed: () => Promise<Operation>) => {
      const upload = await beginUpload({ ...memory.operation(), renewed }, request(path, { sizeBytes: 4 }));
      return upload.store(bytesOf('text')).then(
        () => 'stored',
        (error) => AppError.from(error).code,
      );
    };
    const ended = () => Promise.reject(new AppError('UNAUTHENTICATED', 'logged out'));
    expect(await Promise.all([store('/a', ended), store('/b', async () => memory.operation())])).toEqual(['UNAUTHENTICATED', 'stored']);
    expect(await memory.everything()).toEqual(['/b']);
  });

  it('go in one call, and what ends one of them ends no other one', async () => {
    const { memory, written } = await openMany();
    await memory.put('/taken', 'old');
    const gone = new AbortController();
    const store = async (path: string, content: AsyncIterable<Uint8Array>, signal = memory.operation().signal) => {
      const upload = await beginUpload({ ...memory.operation(), signal }, request(path, { sizeBytes: 4 }));
      return (await upload.store(content)).name;
    };
    const late = async function* () {
      yield Buffer.from('text');
      gone.abort();
    };
    const [stored, refused] = await Promise.all([
      Promise.all(['/a', '/b', '/d/c', '/taken'].map((path) => store(path, bytesOf('text')))),
      Promise.all([store('/short', bytesOf('abc')), store('/long', bytesOf('abcde')), store('/gone', late(), gone.signal)].map(refusalOf)),
    ]);
    expect(stored).toEqual(['a', 'b', 'c', 'taken']);
    expect(refused.map(([code]) => code)).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'CANCELLED']);
    expect(await memory.everything()).toEqual(['/a', '/b', '/d/c', '/taken']);
    for (const path of ['/a', '/b', '/d/c', '/taken']) expect(await memory.textOf(path)).toBe('text');
    expect(written.flat().sort()).toEqual(['/a', '/b', '/d/c', '/taken']);
    expect(written.length).toBeLessThan(4);
    expect(memory.published).toEqual(expect.arrayContaining(['/a', '/b', '/d/c', '/taken']));
  });

  it('of one new name one is stored, and the other one is refused', async () => {
    const { memory } = await openMany();
    const uploads = await Promise.all(
      ['first', 'other'].map(() => beginUpload(memory.operation(), request('/f', { overwrite: false, sizeBytes: 5 }))),
    );
    const outcomes = await Promise.allSettled(uploads.map((upload, index) => upload.store(bytesOf(index === 0 ? 'first' : 'other'))));
    const [refused] = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(refused).toMatchObject({ code: 'ENTRY_EXISTS' });
  });

  it('go by themselves where they are larger, of unknown size, held to a hash or asked for before their name', async () => {
    const { memory, written } = await openMany();
    const large = 'x'.repeat(64 * 1024 + 1);
    const sha256 = createHash('sha256').update('text').digest('hex');
    const store = async (path: string, text: string, rest: Partial<UploadRequest>, beforePublish?: () => Promise<void>) =>
      (await beginUpload(memory.operation(), request(path, rest))).store(bytesOf(text), beforePublish);
    const ask = vi.fn(async () => {});
    await store('/large', large, { sizeBytes: large.length });
    await store('/unknown', 'text', {});
    await store('/hashed', 'text', { sizeBytes: 4, expectedHashes: { sha256 } });
    await store('/asked', 'text', { sizeBytes: 4 }, ask);
    expect(ask).toHaveBeenCalledTimes(1);
    const deep = `${'/d'.repeat(50)}/f`;
    await store(deep, 'text', { sizeBytes: 4 });
    expect(written).toEqual([]);
    expect(await memory.everything()).toEqual(['/asked', deep, '/hashed', '/large', '/unknown']);
  });

  /** Saves a storage with other items, so that what was opened of it before is closed. */
  const saveAnew = ({ located }: Upload) =>
    Object.assign(located.mount, { driver: () => Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'closed')) });

  it('go to their storage as it is when their content is there, also where it was saved with other items meanwhile', async () => {
    const [{ memory }, { memory: anew }] = [await openMany(), await openMany()];
    const upload = await beginUpload({ ...memory.operation(), renewed: async () => anew.operation() }, request('/d/f', { sizeBytes: 4 }));
    saveAnew(upload);
    expect(await upload.store(bytesOf('text'))).toMatchObject({ name: 'f', sizeBytes: 4 });
    expect(await anew.textOf('/d/f')).toBe('text');
  });

  it('leave no claim where their storage is away before it is asked to store them', async () => {
    const ends: string[] = [];
    const note = (end: string) => async () => void ends.push(end);
    const claim = { ...(await NO_QUOTAS.claim(actor(), 4, async () => 0, new AbortController().signal)) };
    const noted = { ...claim, release: note('released'), abandon: note('kept'), settle: note('settled') };
    const { memory } = await openMany({ ...NO_QUOTAS, claim: async () => noted });
    const upload = await beginUpload(memory.operation(), request('/f', { sizeBytes: 4 }));
    saveAnew(upload);
    expect((await refusalOf(upload.store(bytesOf('text'))))[0]).toBe('STORAGE_UNAVAILABLE');
    expect(ends).toEqual(['released']);
  });
});

describe('an upload', () => {
  it('stores the content with its time, makes the folders above it, and tells', async () => {
    const memory = await openTree({});
    const modifiedAt = new Date('2020-01-01T00:00:00Z');
    const upload = await beginUpload(memory.operation(), request('/x/y/f', { modifiedAt, sizeBytes: 4 }));
    expect(memory.published).toEqual([]);
    expect(await upload.store(bytesOf('text'))).toMatchObject({ name: 'f', sizeBytes: 4, modifiedAt });
    expect(memory.published).toEqual(['/x/y/f']);
    expect(await memory.textOf('/x/y/f')).toBe('text');
  });

  it('is stored by the rights of its end, however late its content begins', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const memory = await openTree({});
    const operation = memory.operation();
    const renewed = async () => Promise.reject(new AppError('UNAUTHENTICATED', 'logged out'));
    const upload = await beginUpload({ ...operation, renewed }, request('/f'));
    vi.advanceTimersByTime(10_000);
    expect((await refusalOf(upload.store(bytesOf('late'))))[0]).toBe('UNAUTHENTICATED');
    vi.useRealTimers();
    expect(await memory.everything()).toEqual([]);
  });

  it('asks once more where it has waited for its turn before it began', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const memory = await openTree({});
    const operation = memory.operation();
    vi.advanceTimersByTime(3_000);
    const renewed = async () => Promise.reject(new AppError('UNAUTHENTICATED', 'logged out'));
    const upload = await beginUpload({ ...operation, renewed }, request('/f'));
    expect((await refusalOf(upload.store(bytesOf('late'))))[0]).toBe('UNAUTHENTICATED');
    expect(await memory.everything()).toEqual([]);
  });

  it('is the user’s: slow ones take no more than a share of what a storage bears', async () => {
    const store = new MemoryDriver();
    const never = new Promise<never>(() => undefined);
    const memory = await openLimited(store, { writes: 2 });
    const begin = async (path: string, id: number) => beginUpload(memory.operation(actor({ id })), request(path));
    const standing = async function* () {
      yield Buffer.from('x');
      await never;
    };
    for (const path of ['/one', '/two']) void (await begin(path, 1)).store(standing()).catch(() => undefined);
    await (await begin('/three', 2)).store(bytesOf('text'));
    expect(await memory.textOf('/three')).toBe('text');
  });

  it.each([
    ['is shorter than announced', { sizeBytes: 5 }, 'INVALID_ARGUMENT'],
    ['is longer than announced', { sizeBytes: 3 }, 'INVALID_ARGUMENT'],
    ['has another hash', { expectedHashes: { md5: '0'.repeat(32) } }, 'CONTENT_CORRUPT'],
  ])('that %s leaves the old file', async (_what, rest, code) => {
    const memory = await openTree({});
    await memory.put('/f', 'old');
    const upload = await beginUpload(memory.operation(), request('/f', rest));
    expect((await refusalOf(upload.store(bytesOf('text'))))[0]).toBe(code);
    expect(await memory.textOf('/f')).toBe('old');
  });

  it('over something is refused early and late when it may not replace', async () => {
    const memory = await openTree({});
    await memory.put('/f', 'old');
    expect(await refusalOf(beginUpload(memory.operation(), request('/f', { overwrite: false })))).toEqual(['ENTRY_EXISTS', 'file exists']);
    const upload = await beginUpload(memory.operation(), request('/late', { overwrite: false }));
    await memory.put('/late', 'old');
    expect(await refusalOf(upload.store(bytesOf('new')))).toEqual(['ENTRY_EXISTS', 'file exists']);
    expect(await memory.textOf('/late')).toBe('old');
  });

  it.each(['', '/', '/x/', 'x\\', '.', '/m', '/m/n', '/../f', 'a\0b'])('to %j is refused', async (path) => {
    const memory = await openTree({ storages: [{}, { mount_path: '/m/n' }] });
    expect((await refusalOf(beginUpload(memory.operation(), request(path))))[0]).toMatch(/INVALID_ARGUMENT|UNSAFE_PATH|IS_A_DIRECTORY/);
  });

  it('needs a storage that takes uploads', async () => {
    const drivers = [createTestDriver('NoUpload', [], { no_upload: true }), createTestDriver('ReadOnly', ['write'])];
    const memory = await openTree({
      drivers: drivers.map(({ definition }) => definition),
      storages: [
        { mount_path: '/n', driver: 'NoUpload' },
        { mount_path: '/r', driver: 'ReadOnly' },
      ],
    });
    for (const path of ['/n/f', '/r/f'])
      expect(await refusalOf(beginUpload(memory.operation(), request(path)))).toEqual(['UNSUPPORTED_OPERATION', 'upload not supported']);
    expect((await refusalOf(beginUpload(memory.operation(), request('/none/f'))))[0]).toBe('MOUNT_NOT_FOUND');
  });

  it('needs the permission to write or a rule that lets everybody, but no password', async () => {
    const memory = await openTree({
      rules: [
        { path: '/box', write: true, w_sub: true, password: 'pw', p_sub: true },
        { path: '/box/fixed', write: true, write_users: [99] },
        { path: '/hide', write: true, hide: '^h' },
      ],
    });
    const begin = (path: string) => beginUpload(memory.operation(nobody), request(path));
    await begin('/box/f');
    expect(await refusalOf(begin('/f'))).toEqual(DENIED);
    expect(await refusalOf(begin('/box/fixed/f'))).toEqual(DENIED);
    expect(await refusalOf(begin('/hide/h'))).toEqual(DENIED);
    expect(await refusalOf(beginUpload(memory.operation(actor({ permission: 0xffff & ~PERMISSION.write })), request('/f')))).toEqual(
      DENIED,
    );
  });

  it('over a file that a password guards asks for it, and only then', async () => {
    const memory = await openTree({
      rules: [
        { path: '/box', password: 'pw', p_sub: true },
        { path: '/one', password: 'pw' },
      ],
    });
    for (const path of ['/box/f', '/one']) await memory.put(path, 'old');
    const plain = actor({ permission: 0xfffd });
    const begin = (path: string, password = '') => beginUpload(memory.operation(plain), request(path, { password }));
    for (const path of ['/box/f', '/one'])
      for (const password of ['', 'wrong'])
        expect(await refusalOf(begin(path, password))).toEqual(['PERMISSION_DENIED', 'password is incorrect or you have no permission']);
    for (const [path, password] of [
      ['/box/f', 'pw'],
      ['/one', 'pw'],
      ['/box/new', ''],
      ['/box/new', 'wrong'],
    ] as const)
      await begin(path, password);
    await beginUpload(memory.operation(), request('/one'));
  });

  it('C16: over a guarded file that appeared while it was under way is refused like one that was there', async () => {
    const memory = await openTree({ rules: [{ path: '/box', password: 'pw', p_sub: true }] });
    const plain = actor({ permission: 0xfffd });
    const begin = (password: string) => beginUpload(memory.operation(plain), request('/box/late', { password }));
    const [blind, knowing] = [await begin(''), await begin('pw')];
    expect([blind.mayReplace, knowing.mayReplace]).toEqual([false, true]);
    await memory.put('/box/late', 'old');
    expect(await refusalOf(blind.store(bytesOf('new')))).toEqual(['PERMISSION_DENIED', 'password is incorrect or you have no permission']);
    expect(await memory.textOf('/box/late')).toBe('old');
    await knowing.store(bytesOf('new'));
    expect(await memory.textOf('/box/late')).toBe('new');
  });

  describe('C11: that takes long', () => {
    beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
    afterEach(() => vi.useRealTimers());

    const rules = [{ path: '/box', password: 'pw', p_sub: true }];
    const store = async (tookMs: number, now: () => Promise<Partial<Operation>>) => {
      const memory = await openTree({ rules });
      await memory.put('/box/f', 'old');
      const operation = memory.operation(actor({ permission: 0xfffd }));
      const renewed = async () => ({ ...operation, ...(await now()) });
      const upload = await beginUpload({ ...operation, renewed }, request('/box/f', { password: 'pw' }));
      async function* slowly() {
        yield* bytesOf('new');
        vi.advanceTimersByTime(tookMs);
      }
      const outcome = await upload.store(slowly()).then(
        () => 'stored',
        (error) => AppError.from(error).code,
      );
      return [outcome, await memory.textOf('/box/f')];
    };
    it('asks again every half minute, and ends when its sender was logged out', async () => {
      const memory = await openTree({});
      let asked = 0;
      const operation = memory.operation();
      const renewed = async () => {
        asked += 1;
        if (asked === 3) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
        return operation;
      };
      const upload = await beginUpload({ ...operation, renewed }, request('/f'));
      let sent = 0;
      async function* slowly() {
        for (; sent < 100; sent += 1) {
          yield* bytesOf('new');
          vi.advanceTimersByTime(10_000);
        }
      }
      expect((await refusalOf(upload.store(slowly())))[0]).toBe('UNAUTHENTICATED');
      expect([sent, await memory.everything()]).toEqual([9, []]);
    });

    const disabled = async () => {
      throw new AppError('PERMISSION_DENIED', 'disabled');
    };

    it.each([
      ['has been disabled', disabled],
      ['may not write any more', async () => ({ actor: actor({ permission: 0xfffd & ~PERMISSION.write }) })],
      ['has another base path', async () => ({ actor: actor({ basePath: vpath('/elsewhere') }) })],
      [
        'did not send the password of today',
        async () => ({ snapshot: (await openTree({ rules: [{ ...rules[0], password: 'new' }] })).snapshot }),
      ],
    ])('is not published for somebody who %s meanwhile', async (_what, now) => {
      expect(await store(3_000, now)).toEqual(['PERMISSION_DENIED', 'old']);
    });

    it('is published for who still may, also where the store was away for a moment, and one that was quick does not ask', async () => {
      expect(await store(3_000, async () => ({}))).toEqual(['stored', 'new']);
      let asked = 0;
      const away = async () => {
        asked += 1;
        if (asked === 1) throw new AppError('STORAGE_UNAVAILABLE', 'the store does not answer');
        return {};
      };
      expect(await store(3_000, away)).toEqual(['stored', 'new']);
      expect(await store(1_000, disabled)).toEqual(['stored', 'new']);
    });
  });

  it.each(['Slow', 'Crypt'])(
    'of unknown size gets no name where a storage (%s) took long for what had been taken in, and its sender may no more',
    async (kind) => {
      vi.useFakeTimers({ toFake: ['performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const store = createTestDriver('Slow');
      const definition: DriverDefinition = {
        ...store.definition,
        async open(...given) {
          const driver = await store.definition.open(...given);
          const write: StorageDriver['write'] = async (file, content, options) => {
            expect(options.sizeBytes).toBeGreaterThan(0);
            vi.advanceTimersByTime(3_000);
            return driver.write?.(file, content, options) ?? expect.fail('it takes no files');
          };
          return decorated({ ...operationsOf(driver), traits: { ...driver.traits, needsSize: true }, write });
        },
      };
      const names = { filename_encryption: 'standard', directory_name_encryption: 'true', filename_encoding: 'base64' };
      const sealed = { ...names, remote_path: '/s', encrypted_suffix: '.bin', password: 'a password' };
      const crypt = { mount_path: '/c', driver: 'Crypt', addition: JSON.stringify(sealed) };
      const storages = [{ mount_path: '/s', driver: 'Slow' }, ...(kind === 'Crypt' ? [crypt] : [])];
      const memory = await openTree({ drivers: [definition, cryptDriver], storages });
      const put = async (renewed: () => Promise<Operation>) => {
        const upload = await beginUpload({ ...memory.operation(), renewed }, request(kind === 'Crypt' ? '/c/f' : '/s/f'));
        return refusalOf(upload.store(bytesOf('text')));
      };
      expect((await put(() => Promise.reject(new AppError('UNAUTHENTICATED', 'logged out'))))[0]).toBe('UNAUTHENTICATED');
      expect(await memory.everything('/s')).toEqual([]);
    },
  );

  it.each([
    ['4 bytes', 4, 'text'],
    ['a size that is not said', undefined, 'text'],
    ['no byte', 0, ''],
  ])(
    'of %s gets no name where its storage has all of it with the last byte, and its sender may no more',
    async (_what, sizeBytes, text) => {
      vi.useFakeTimers({ toFake: ['performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const store = createTestDriver('Sized');
      const definition: DriverDefinition = {
        ...store.definition,
        async open(...given) {
          const driver = await store.definition.open(...given);
          // As a server that answers when it has the length that it was told.
          async function* upTo(bytes: number, content: AsyncIterable<Uint8Array>) {
            if (bytes === 0) return;
            for await (const chunk of content) {
              yield chunk;
              bytes -= chunk.byteLength;
              if (bytes === 0) return;
            }
          }
          const write: StorageDriver['write'] = async (file, content, options) => {
            vi.advanceTimersByTime(3_000);
            return driver.write?.(file, upTo(options.sizeBytes ?? 0, content), options) ?? expect.fail('it takes no files');
          };
          return decorated({ ...operationsOf(driver), traits: { ...driver.traits, needsSize: true }, write });
        },
      };
      const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Sized' }] });
      const put = async (renewed: () => Promise<Operation>) => {
        const upload = await beginUpload({ ...memory.operation(), renewed }, request('/f', { sizeBytes }));
        return upload.store(bytesOf(text)).then(
          () => 'stored',
          (error) => AppError.from(error).code,
        );
      };
      expect(await put(() => Promise.reject(new AppError('UNAUTHENTICATED', 'logged out')))).toBe('UNAUTHENTICATED');
      expect(await memory.everything()).toEqual([]);
      expect(await put(async () => memory.operation())).toBe('stored');
    },
  );

  it('gets no name for who may no more, where its storage asks again after the refusal', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = createTestDriver('Again');
    const definition: DriverDefinition = {
      ...store.definition,
      async open(...given) {
        const driver = await store.definition.open(...given);
        // As a WebDAV server does whose file is gone meanwhile: its name is free then, and is taken.
        const write: StorageDriver['write'] = async (file, content, { afterWaiting, ...options }) => {
          const whole = await Array.fromAsync(content, (piece) => Buffer.from(piece));
          vi.advanceTimersByTime(3_000);
          await afterWaiting?.().catch(afterWaiting);
          return driver.write?.(file, Readable.from(whole), options) ?? expect.fail('it takes no files');
        };
        return decorated({ ...operationsOf(driver), write });
      },
    };
    const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Again' }] });
    let asked = 0;
    const renewed = () => {
      asked += 1;
      return asked > 2 ? Promise.resolve(memory.operation()) : Promise.reject(new AppError('UNAUTHENTICATED', 'logged out'));
    };
    const upload = await beginUpload({ ...memory.operation(), renewed }, request('/f'));
    expect([(await refusalOf(upload.store(bytesOf('text'))))[0], await memory.everything()]).toEqual(['UNAUTHENTICATED', []]);
  });

  it('into a folder that is not there yet is judged by the nearest one that is, too', async () => {
    const memory = await openTree({
      rules: [
        { path: '/a', write_users: [99] },
        { path: '/b/c', write_users: [99] },
      ],
    });
    await memory.put('/a/there/f');
    await memory.put('/b/f');
    const begin = (path: string) => beginUpload(memory.operation(), request(path));
    expect(await refusalOf(begin('/a/new/f'))).toEqual(DENIED);
    expect(await refusalOf(begin('/a/new/deeper/f'))).toEqual(DENIED);
    expect(await refusalOf(begin('/b/c/new/f'))).toEqual(DENIED);
    expect(await refusalOf(makeDirectory(memory.operation(), '/a/new/deeper'))).toEqual(DENIED);
    expect(
      await refusalOf(
        placeEntries(
          memory.operation(),
          { src_dir: '/b', dst_dir: '/a/new/d', names: ['f'], overwrite: false, skip_existing: false },
          'copy',
          async () => {},
        ),
      ),
    ).toEqual(DENIED);
    await begin('/a/there/g');
    await begin('/a/there/new/g');
    await begin('/b/new/g');
    await beginUpload(memory.operation(actor({ role: 2 })), request('/a/new/f'));
  });

  it.each(['.DS_Store', 'desktop.ini', 'Thumbs.db', '@eaDir', '._x'])('of %s is refused when such files are not wanted', async (name) => {
    const [strict, lax] = [await openTree({ settings: { ignore_system_files: 'true' } }), await openTree({})];
    expect(await refusalOf(beginUpload(strict.operation(), request(`/d/${name}`)))).toEqual([
      'PERMISSION_DENIED',
      'system file upload ignored',
    ]);
    await beginUpload(lax.operation(), request(`/d/${name}`));
    await beginUpload(strict.operation(), request(`/d/x${name}`));
  });
});

it.each([
  ['ENTRY_NOT_FOUND', 'released'],
  ['PERMISSION_DENIED', 'released'],
  ['CONTENT_CORRUPT', 'kept'],
] as const)('what a storage stores and answers with %s is told, and its room is %s', async (code, end) => {
  const ends: string[] = [];
  const claim = await NO_QUOTAS.claim(actor(), 4, async () => 0, new AbortController().signal);
  const note = (what: string) => async () => void ends.push(what);
  const quotas = { ...NO_QUOTAS, claim: async () => ({ ...claim, release: note('released'), abandon: note('kept') }) };
  const store = createTestDriver('Odd');
  const definition: DriverDefinition = {
    ...store.definition,
    async open(...given) {
      const driver = await store.definition.open(...given);
      const write: StorageDriver['write'] = async (...call) => {
        await driver.write?.(...call);
        throw storageError(code);
      };
      return { ...driver, write };
    },
  };
  const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Odd' }], quotas });
  const upload = await beginUpload(memory.operation(), request('/f', { sizeBytes: 4 }));
  expect((await refusalOf(upload.store(bytesOf('text'))))[0]).toBe(code);
  expect([memory.published, ends]).toEqual([['/f'], [end]]);
});

it('what is stored is told also where the store is away when its room is to be settled', async () => {
  const away = () => Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'the store does not answer'));
  const claim = async () => ({ bytes: 4, extend: async () => {}, settle: away, release: away, abandon: away });
  const memory = await openTree({ quotas: { ...NO_QUOTAS, claim } });
  const upload = await beginUpload(memory.operation(), request('/f'));
  await expect(upload.store(bytesOf('text'))).rejects.toThrow('the store does not answer');
  expect([await memory.textOf('/f'), memory.published]).toEqual(['text', ['/f']]);
});

it('what takes the place of a known file is dated later, also where its storage promises nothing of dates', async () => {
  const store = createTestDriver('Undated');
  const dates: (Date | undefined)[] = [];
  const definition: DriverDefinition = {
    ...store.definition,
    async open(...given) {
      const driver = await store.definition.open(...given);
      const { write, ...operations } = operationsOf(driver);
      return decorated({
        ...operations,
        traits: { ...driver.traits, modTimeStepMs: undefined },
        write: async (file, content, options) => {
          dates.push(options.modifiedAt);
          if (!write) throw new Error('it takes no files');
          return write(file, content, options);
        },
      });
    },
  };
  const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Undated' }] });
  const soon = Date.now() + 3_600_000;
  const known = { name: 'f' as EntryName, isDirectory: false, sizeBytes: 4, modifiedAt: new Date(soon) };
  const upload = await beginUpload(memory.operation(), request('/f'));
  await upload.store(bytesOf('text'), undefined, known);
  await upload.store(bytesOf('text'), undefined, { ...known, version: '1' });
  expect(dates).toEqual([new Date(soon + 1_000), undefined]);
  // Disks and servers have a last date, which they give to all that are later.
  const last = new Date('2106-02-07T06:28:15Z');
  await upload.store(bytesOf('text'), undefined, { ...known, modifiedAt: last });
  const late = await beginUpload(memory.operation(), { ...request('/f'), modifiedAt: new Date('9999-12-31T23:59:59Z') });
  await late.store(bytesOf('text'), undefined, known);
  expect(dates.slice(2).map((date) => date && date < last)).toEqual([true, true]);
});
