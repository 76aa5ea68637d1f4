import { MOUNT_ROOT, nameAt } from '@wharf/paths';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { BATCH_BYTES, BIG_PIECES_BYTES, giveBackBatch, takeBatch } from '../../driver-contract/batches.ts';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { at, collect, entriesIn, namesIn, pattern, put, refuses } from '../../driver-contract/conformance/driver-calls.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import { inFolder } from '../../driver-contract/in-folder.ts';
import type { ByteRange, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { saidOfPart, storageError } from '../../driver-contract/storage-error.ts';
import { withLimits } from '../../driver-contract/with-limits.ts';
import { MemoryDriver } from '../memory/driver.ts';
import { HEADER_BYTES, nonceOf, openedSize, sealedSize } from './format.ts';
import { cryptDriver } from './index.ts';
import { deriveKeys } from './keys.ts';
import { createNames } from './names.ts';
import { createObfuscation } from './obfuscated-names.ts';

async function openOver(inner: StorageDriver, rest: object = {}) {
  const addition = {
    ...{ filename_encryption: 'off', directory_name_encryption: 'false', filename_encoding: 'base64' },
    ...{ remote_path: '/inner', password: 'a password', encrypted_suffix: '.bin', show_hidden: true },
    ...rest,
  };
  const openMount = async () => inFolder(inner, MOUNT_ROOT, () => undefined);
  return (await cryptDriver.open(JSON.stringify(addition), { openMount })) as Required<StorageDriver>;
}

/** Replaces what is stored. */
async function change(inner: MemoryDriver, path: string, turn: (bytes: Buffer) => Uint8Array): Promise<void> {
  await put(inner, path, turn(await collect(await inner.read(at(path)))));
}

describe('crypt: content', () => {
  it('sizes follow from each other, and sizes of no file are told', () => {
    for (const size of [0, 1, 65_535, 65_536, 65_537, 131_072, 10_000_001]) expect(openedSize(sealedSize(size))).toBe(size);
    expect([0, 31, 33, 48, 32 + 65_552 + 1].map(openedSize)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  it('nonces are counted from the first byte on, with what is carried', () => {
    expect([...nonceOf(new Uint8Array(24).fill(255), 1)]).toEqual(new Array(24).fill(0));
    expect([...nonceOf(new Uint8Array([255, 0, 0]), 258)]).toEqual([1, 2, 0]);
  });

  it('a flipped bit anywhere, a lost end and another kind of file are CONTENT_CORRUPT', async () => {
    const inner = new MemoryDriver();
    const driver = await openOver(inner);
    const content = pattern(150_000);
    const read = (range?: { offsetBytes: number }) => driver.read(at('/f'), range).then(collect);
    for (const [place, range] of [
      [0, undefined],
      [20, undefined],
      [HEADER_BYTES, undefined],
      [70_000, undefined],
      [150_000, { offsetBytes: 140_000 }],
    ] as const) {
      await put(driver, '/f', content);
      await change(inner, '/f.bin', (bytes) => {
        bytes[place] = (bytes[place] ?? 0) ^ 4;
        return bytes;
      });
      await refuses('CONTENT_CORRUPT', read(range));
    }
    await put(driver, '/f', content);
    await change(inner, '/f.bin', (bytes) => bytes.subarray(0, -1));
    await refuses('CONTENT_CORRUPT', read());
    await put(inner, '/f.bin', 'short');
    await refuses('CONTENT_CORRUPT', read());
  });

  it('another password is CONTENT_CORRUPT', async () => {
    const inner = new MemoryDriver();
    await put(await openOver(inner), '/f', 'text');
    for (const rest of [{ password: 'another' }, { salt: 'another' }])
      await refuses('CONTENT_CORRUPT', (await openOver(inner, rest)).read(at('/f')).then(collect));
  });

  it('a range asks for its blocks alone', async () => {
    const inner = new MemoryDriver();
    const asked: number[] = [];
    const read = inner.read.bind(inner);
    inner.read = (path, range, options) => {
      asked.push(range?.lengthBytes ?? -1);
      return read(path, range, options);
    };
    const driver = await openOver(inner);
    const content = pattern(1_000_000);
    await put(driver, '/f', content);
    expect(
      (await collect(await driver.read(at('/f'), { offsetBytes: 500_000, lengthBytes: 70_000 }))).equals(
        content.subarray(500_000, 570_000),
      ),
    ).toBe(true);
    expect(asked).toEqual([HEADER_BYTES, 2 * 65_552]);
  });

  it('a read lets go of the storage below when it ends, as well as where it fails', async () => {
    const below = new MemoryDriver();
    // One file may be open at a time, for whomever: what keeps its turn keeps it from the next.
    const inner = withLimits(below, { names: 4, reads: 1, writes: 1 }, 100);
    const driver = await openOver(inner);
    await put(driver, '/f', pattern(200_000));
    await put(below, '/short.bin', 'short');
    await put(below, '/odd.bin', pattern(200_000));
    const read = (path: string, range?: ByteRange) => driver.read(at(path), range).then(collect);
    const ranges = [
      undefined,
      { offsetBytes: 10 },
      { offsetBytes: 150_000 },
      { offsetBytes: 199_999 },
      { offsetBytes: 70_000, lengthBytes: 1 },
    ];
    for (const range of [...ranges, { offsetBytes: 10, lengthBytes: 0 }, { offsetBytes: 70_000, lengthBytes: 0 }]) await read('/f', range);
    await refuses('CONTENT_CORRUPT', read('/short'));
    await refuses('CONTENT_CORRUPT', read('/odd'));
    await refuses('CONTENT_CORRUPT', read('/odd', { offsetBytes: 150_000 }));
    await refuses('RANGE_NOT_SATISFIABLE', read('/f', { offsetBytes: 10_000_000 }));
    expect((await read('/f')).equals(pattern(200_000))).toBe(true);
  });

  it('whoever takes nothing holds little where others have the room for more', async () => {
    const inner = new MemoryDriver();
    const driver = await openOver(inner);
    const content = pattern(1_000_000);
    await put(driver, '/f', content);
    let taken = 0;
    const read = inner.read.bind(inner);
    vi.spyOn(inner, 'read').mockImplementation(async (...call) => {
      const opened = await read(...call);
      const counted = async function* () {
        for await (const piece of opened) {
          taken += piece.byteLength;
          yield piece;
        }
      };
      return { entry: opened.entry, [Symbol.asyncIterator]: counted };
    });
    const takenForOne = async () => {
      taken = 0;
      for await (const _ of await driver.read(at('/f'))) return taken;
      return taken;
    };
    expect(await takenForOne()).toBeGreaterThan(700_000);
    const batches = Array.from({ length: BIG_PIECES_BYTES / BATCH_BYTES }, () => takeBatch());
    try {
      expect(batches.every(({ byteLength }) => byteLength === BATCH_BYTES)).toBe(true);
      expect(await takenForOne()).toBeLessThan(140_000);
      expect((await collect(await driver.read(at('/f')))).equals(content)).toBe(true);
      await put(driver, '/g', content);
    } finally {
      for (const batch of batches) giveBackBatch(batch);
    }
    expect((await collect(await driver.read(at('/g')))).equals(content)).toBe(true);
  });
});

describe('crypt: names', () => {
  it.each(['standard', 'obfuscate'] as const)('%s: any name comes back', async (mode) => {
    const keys = await deriveKeys('a password', 'salt');
    for (const encoding of ['base32', 'base64', 'base32768'] as const) {
      const names = createNames(keys, { mode, encoding, encryptsFolders: true, suffix: '.bin' });
      fc.assert(
        fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 35 }), (name) => {
          fc.pre(name.isWellFormed());
          expect(names.shownFile(names.ofFile(name) ?? '')).toBe(name);
          expect(names.shownFolder(names.ofFolder(name))).toBe(name);
        }),
        { numRuns: 300 },
      );
      const longest = 'n'.repeat(names.maxNameBytes(255));
      expect(Buffer.byteLength(names.ofFile(longest) ?? '')).toBeLessThanOrEqual(255);
    }
  });

  it.each(['standard', 'obfuscate'] as const)('%s: no two names are one below, wherever one says a version, or comes to', async (mode) => {
    const inner = new MemoryDriver();
    const driver = await openOver(inner, { filename_encryption: mode });
    const version = '-v2020-01-02-030405-000';
    const stored = [
      'a.txt',
      `a${version}.txt`,
      `a.txt${version}`,
      `a${version}`,
      `b.txt${version}${version}`,
      `c${version}.txt${version}`,
      'd\ufffd',
    ];
    for (const name of stored) await put(driver, `/${name}`, name, { overwrite: false });
    expect((await namesIn(driver, '/')).sort()).toEqual(stored.toSorted());
    for (const name of stored) expect((await collect(await driver.read(at(`/${name}`)))).toString()).toBe(name);
  });

  it.each(['standard', 'obfuscate'] as const)('%s: a file with a version and a folder do not have one name', async (mode) => {
    const driver = await openOver(new MemoryDriver(), { filename_encryption: mode, directory_name_encryption: 'true' });
    const [file, folder] = [at('/a-v2020-01-02-030405-000.txt'), at('/b-v2020-01-02-030405-000')];
    await put(driver, file, 'text');
    await driver.makeDirectory(folder);
    await refuses('ENTRY_EXISTS', driver.makeDirectory(file));
    await refuses('NOT_A_DIRECTORY', put(driver, `${file}/in/below`, 'x'));
    await refuses('IS_A_DIRECTORY', put(driver, folder, 'x'));
    await refuses('IS_A_DIRECTORY', driver.read(folder));
    await refuses('NOT_A_DIRECTORY', Array.fromAsync(driver.list(file)));
    await refuses('ENTRY_EXISTS', driver.rename(folder, file, { overwrite: false }));
    expect((await namesIn(driver, '/')).sort()).toEqual(['a-v2020-01-02-030405-000.txt', 'b-v2020-01-02-030405-000']);
  });

  it('a file whose content comes for long gets no name beside a folder that has it by then', async () => {
    const inner = new MemoryDriver();
    const driver = await openOver(inner);
    const content = async function* () {
      yield Buffer.from('slow');
      await driver.makeDirectory(at('/x'));
    };
    await refuses('IS_A_DIRECTORY', driver.write(at('/x'), content(), { overwrite: true }));
    expect(await namesIn(inner, '/')).toEqual(['x']);
  });

  it('what is to go as a folder is not the file of its name', async () => {
    const inner = new MemoryDriver();
    const driver = await openOver(inner);
    await put(driver, '/x', 'kept');
    await inner.makeDirectory(at('/x'));
    await driver.remove(at('/x'), { recursive: false, onlyIf: folderNamed(nameAt(at('/x'))) });
    expect(await namesIn(inner, '/')).toEqual(['x.bin']);
  });

  it('a name that is hidden as what another one is with its version is refused, and is not there', async () => {
    const keys = await deriveKeys('a password', '');
    const names = createNames(keys, { mode: 'obfuscate', encoding: 'base64', encryptsFolders: true, suffix: '.bin' });
    const { hide, show } = createObfuscation(keys.name);
    const pairs = Array.from({ length: 20_000 }, (_, index) => {
      const part = (most: number, width = 2) => `${(index * 7_919 + most * 31) % most}`.padStart(width, '0');
      const version = `-v${part(9_999, 4)}-1${part(3, 1)}-1${part(10, 1)}-${part(24)}${part(60)}${part(59)}-${part(997, 3)}`;
      const name = `${index.toString(26)}plan${version}.txt`;
      const hidden = names.ofFile(name) ?? '';
      return { name, hidden, other: show(hidden) ?? '' };
    }).filter(({ hidden, other }) => hide(other) === hidden);
    expect(pairs.length).toBeGreaterThan(0);
    for (const { name, hidden, other } of pairs) {
      expect(names.shownFile(hidden)).toBe(name);
      expect(names.ofFile(other)).toBeUndefined();
    }
    const driver = await openOver(new MemoryDriver(), { filename_encryption: 'obfuscate' });
    const other = `/${pairs[0]?.other}`;
    await refuses('ENTRY_NOT_FOUND', driver.stat(at(other)));
    await refuses('INVALID_ARGUMENT', put(driver, other, 'x'));
  });

  it.each(['standard', 'obfuscate'] as const)('%s: names that lead elsewhere once they are decrypted are not shown (C4)', async (mode) => {
    const inner = new MemoryDriver();
    const names = createNames(await deriveKeys('a password', ''), { mode, encoding: 'base64', encryptsFolders: true, suffix: '.bin' });
    const open = () => openOver(inner, { filename_encryption: mode, directory_name_encryption: 'true' });
    for (const hostile of ['..', '.', '../etc', 'a/b', '/etc', 'x\0y', 'x\r\nEvil', 'a\\b', 'n'.repeat(160)]) {
      const [file, folder] = [names.ofFile(hostile) ?? '', names.ofFolder(hostile)];
      if (!/[/\0\r\n\\]/.test(file)) await put(inner, `/${file}`, 'x');
      if (!/[/\0\r\n\\]/.test(folder) && folder !== file) await inner.makeDirectory(at(`/${folder}`));
    }
    const fine = await open();
    await put(fine, '/fine', 'x');
    const shown = (await namesIn(fine, '/')).filter((name) => name !== 'n'.repeat(160));
    expect(shown).toEqual(['fine']);
  });

  it('what is not encrypted is not shown, nor what is hidden where it is not to be', async () => {
    const inner = new MemoryDriver();
    await put(inner, '/plain', 'x');
    const driver = await openOver(inner, { show_hidden: false });
    await put(driver, '/.hidden', 'x');
    await put(driver, '/seen', 'x');
    expect(await namesIn(driver, '/')).toEqual(['seen']);
    expect(await entriesIn(await openOver(inner, { filename_encryption: 'standard' }), '/')).toEqual([]);
  });

  it.each([
    [{ encrypted_suffix: 'bin' }, 'encrypted_suffix is a dot and two or more letters, digits, - or _'],
    [{ password: '' }, 'password is required'],
    [{ password: '___Obfuscated___abc' }, 'password is not what rclone makes of a password'],
    [{ remote_path: '' }, 'remote_path is required'],
  ])('%j is refused', async (rest, message) => {
    await expect(openOver(new MemoryDriver(), rest)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message });
  });
});

it('nothing counts as removed where a gateway shows the folder below and cannot list it, as its storage is away', async () => {
  const gateway = new MemoryDriver();
  const missing = saidOfPart(storageError('ENTRY_NOT_FOUND'));
  const inner = decorated({
    ...operationsOf(gateway),
    stat: (path, options) => (path === MOUNT_ROOT ? gateway.stat(path, options) : Promise.reject(missing)),
    // biome-ignore lint/correctness/useYield: there is nothing to yield
    async *list() {
      throw missing;
    },
  });
  const driver = decorate(await openOver(inner), cryptDriver.limits) as Required<StorageDriver>;
  await refuses('STORAGE_UNAVAILABLE', driver.remove(at('/file'), { recursive: true }));
});
