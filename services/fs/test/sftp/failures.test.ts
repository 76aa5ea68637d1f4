import { chown, mkdir, readdir, readFile, readlink, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { isAvailable, isMissing, startSshServer, waitFor } from '@wharf/harness';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { bytesOf, mpath, textOf } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import type { CallOptions } from '../../src/driver-contract/storage-driver.ts';
import { withDeadline } from '../../src/driver-contract/with-deadline.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const server = await startSshServer();
const PIECE = Buffer.alloc(1_000_000, 'X');

describe.runIf(isAvailable('sshd', server))('an SFTP server that', () => {
  if (isMissing(server)) return;
  afterEach(() => server.resume());
  afterAll(() => server.stop());
  const code = async (call: Promise<unknown>) => (await refusalOf(call))[0];
  const leftovers = async () => (await readdir(server.folder, { recursive: true })).filter((name) => name.includes('.wharf-tmp'));
  const noLeftovers = () => waitFor('temporary names to go', async () => (await leftovers()).length === 0);
  const twice = async function* (between: () => Promise<void>) {
    yield PIECE;
    await between();
    for (let piece = 0; piece < 8; piece++) yield PIECE;
  };
  /** Files of the folder that any process has open. */
  const openFiles = async (name: string): Promise<number> => {
    let count = 0;
    for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
      for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
        if ((await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')).includes(name)) count += 1;
      }
    }
    return count;
  };

  it('stands still holds nobody: aborted calls end at once, others by their deadline, and all is well when it goes on', async () => {
    const driver = await openSftp(itemsOf(server));
    await driver.write(mpath('/stalls/old'), bytesOf('old'), { overwrite: true });
    await driver.write(
      mpath('/stalls/big'),
      twice(async () => undefined),
      { overwrite: true },
    );
    const content = (await driver.read(mpath('/stalls/big')))[Symbol.asyncIterator]();
    await content.next();
    await server.pause();

    const limited = withDeadline(driver, { callMs: 50, stallMs: 50, treeMs: 50, commitMs: 50 });
    expect(await code(limited.stat(mpath('/stalls/old')))).toBe('DEADLINE_EXCEEDED');
    expect(await code(Array.fromAsync(limited.list(mpath('/stalls'))))).toBe('DEADLINE_EXCEEDED');
    const calls: Array<(options: CallOptions) => Promise<unknown>> = [
      (options) => driver.stat(mpath('/stalls/old'), options),
      (options) => Array.fromAsync(driver.list(mpath('/stalls'), options)),
      (options) => driver.read(mpath('/stalls/old'), undefined, options),
      (options) => driver.write(mpath('/stalls/old'), bytesOf('new'), { ...options, overwrite: true }),
      (options) => driver.makeDirectory(mpath('/stalls/new'), options),
      (options) => driver.remove(mpath('/stalls'), { ...options, recursive: true }),
      (options) => driver.rename(mpath('/stalls/old'), mpath('/stalls/new'), { ...options, overwrite: true }),
      (options) => driver.copy(mpath('/stalls/old'), mpath('/stalls/new'), { ...options, overwrite: true }),
      (options) => driver.space(options),
      (options) => driver.openDraft(mpath('/stalls/new'), '0'.repeat(32), { ...options, create: true }),
    ];
    const gone = new AbortController();
    const running = calls.map((call) => code(call({ signal: gone.signal })));
    gone.abort();
    expect(new Set(await Promise.all(running))).toEqual(new Set(['CANCELLED']));

    await server.resume();
    let bytes = 0;
    for (let step = await content.next(); step.done !== true; step = await content.next()) bytes += step.value.byteLength;
    expect(bytes).toBeGreaterThan(8 * PIECE.byteLength - 300_000);
    expect(await textOf(await driver.read(mpath('/stalls/old')))).toBe('old');
    await noLeftovers();
    expect((await Array.fromAsync(driver.list(mpath('/stalls')))).map(({ name }) => name).sort()).toEqual(['big', 'old']);
    await driver.close();
    await waitFor('connections to end', async () => (await server.connections()) === 0);
  });

  it('stands still does not keep a storage from closing', async () => {
    const driver = await openSftp(itemsOf(server));
    await server.pause();
    const waiting = code(driver.stat(mpath('/')));
    await driver.close();
    expect(await waiting).toBe('STORAGE_UNAVAILABLE');
    await server.resume();
    await waitFor('connections to end', async () => (await server.connections()) === 0);
  });

  it('ends in the middle leaves nothing half, and is used again when it is back', async () => {
    const driver = await openSftp(itemsOf(server));
    await driver.write(mpath('/ends/old'), bytesOf('old'), { overwrite: true });
    const restart = () => server.restart();
    expect(await code(driver.write(mpath('/ends/old'), twice(restart), { overwrite: true }))).toBe('STORAGE_UNAVAILABLE');
    expect(await code(driver.write(mpath('/ends/new'), twice(restart), { overwrite: false }))).toBe('STORAGE_UNAVAILABLE');
    expect((await Array.fromAsync(driver.list(mpath('/ends')))).map(({ name }) => name)).toEqual(['old']);
    expect(await textOf(await driver.read(mpath('/ends/old')))).toBe('old');
    await noLeftovers();

    await driver.write(
      mpath('/ends/big'),
      twice(async () => undefined),
      { overwrite: true },
    );
    const reading = (async () => {
      let isFirst = true;
      for await (const _piece of await driver.read(mpath('/ends/big'))) {
        if (isFirst) await server.restart();
        isFirst = false;
      }
    })();
    expect(await code(reading)).toBe('STORAGE_UNAVAILABLE');
    expect((await driver.stat(mpath('/ends/big'))).sizeBytes).toBe(9 * PIECE.byteLength);
  });

  it('is away while a write is taken back is asked to forget it later', async () => {
    const driver = await openSftp(itemsOf(server));
    const gone = new AbortController();
    const pausing = async () => {
      await server.pause();
      gone.abort();
    };
    expect(await code(driver.write(mpath('/away'), twice(pausing), { overwrite: true, signal: gone.signal }))).toBe('CANCELLED');
    // What hangs is broken with the server.
    await server.restart();
    await driver.stat(mpath('/'));
    await noLeftovers();
  });

  it('is left in the middle of many transfers keeps no file open and has no connection more', async () => {
    const driver = await openSftp(itemsOf(server));
    const name = `cancelled-${process.pid}`;
    await driver.write(
      mpath(`/${name}`),
      twice(async () => undefined),
      { overwrite: true },
    );
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        Array.from({ length: 25 }, async (_, index) => {
          const gone = new AbortController();
          const reading = async () => {
            for await (const _piece of await driver.read(mpath(`/${name}`), undefined, { signal: gone.signal }))
              if (index % 3 === 0) gone.abort();
          };
          const writing = () =>
            driver.write(
              mpath(`/${name}-${index}`),
              twice(async () => gone.abort()),
              { overwrite: true, signal: gone.signal },
            );
          const outcome = code(index % 2 === 0 ? reading() : writing());
          if (index % 3 === 1) setImmediate(() => gone.abort());
          setTimeout(() => gone.abort(), 50).unref();
          expect(await outcome).toBe('CANCELLED');
        }),
      );
    }
    await waitFor('files to be closed', async () => (await openFiles(name)) === 0);
    await noLeftovers();
    expect(await server.connections()).toBeLessThanOrEqual(4);
    expect((await Array.fromAsync(driver.list(mpath('/')))).filter((entry) => entry.name.startsWith(name))).toHaveLength(1);
  });

  it('was told the date of a file, and not its name yet, keeps the draft', async () => {
    const driver = await openSftp(itemsOf(server));
    const [file, id] = [mpath('/dated/film.bin'), '0'.repeat(32)];
    await driver.write(file, bytesOf('old'), { overwrite: true });
    const draft = await driver.openDraft(file, id, { create: true });
    await draft.write(0, bytesOf('the new one'));
    const beforePublish = async () => {
      await Array.fromAsync(driver.list(mpath('/dated')));
      throw new AppError('STORAGE_UNAVAILABLE', 'away');
    };
    const publishing = draft.publish({ overwrite: true, modifiedAt: new Date('2019-01-01'), beforePublish });
    expect(await code(publishing)).toBe('STORAGE_UNAVAILABLE');
    const again = await openSftp(itemsOf(server));
    await Array.fromAsync(again.list(mpath('/dated')));
    // What a listing has removed is gone once the storage is closed.
    await Promise.all([driver.close(), again.close()]);
    const last = await openSftp(itemsOf(server));
    await (await last.openDraft(file, id, { create: false })).publish({ overwrite: true });
    expect(await textOf(await last.read(file))).toBe('the new one');
  });

  it('holds a file of an old date that another process has not named yet keeps it', async () => {
    const driver = await openSftp(itemsOf(server));
    const sealed = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const file = mpath('/copied/file');
    const publishing = driver.write(file, bytesOf('new'), {
      overwrite: true,
      modifiedAt: new Date('2019-01-01'),
      async beforePublish() {
        sealed.resolve();
        await go.promise;
      },
    });
    await sealed.promise;
    const [name = ''] = (await readdir(join(server.folder, 'copied'))).filter((each) => each.startsWith('.wharf-tmp'));
    const elsewhere = `.wharf-tmp-${newOwnedName({ ...currentOwner(), host: 'f'.repeat(12) })}`;
    // As a process in another container has named it.
    await rename(join(server.folder, 'copied', name), join(server.folder, 'copied', elsewhere));
    const other = await openSftp(itemsOf(server));
    await Array.fromAsync(other.list(mpath('/copied')));
    await other.close();
    expect(await readdir(join(server.folder, 'copied'))).toEqual([elsewhere]);
    await rename(join(server.folder, 'copied', elsewhere), join(server.folder, 'copied', name));
    go.resolve();
    await publishing;
  });

  it('has files of processes that ended loses them, and no others', async () => {
    const own = currentOwner();
    const place = async (name: string, folder: string, isOld: boolean) => {
      const file = join(server.folder, folder, `.wharf-tmp-${name}`);
      await mkdir(join(server.folder, folder), { recursive: true });
      await chown(join(server.folder, folder), server.uid, server.uid);
      await writeFile(file, 'x');
      const seconds = Date.now() / 1000 - (isOld ? 3 * 24 * 60 * 60 : 0);
      await utimes(file, seconds, seconds);
    };
    const ended = { ...own, pid: 4_194_305 };
    const elsewhere = { ...own, host: 'f'.repeat(12) };
    for (const folder of ['.', 'below']) {
      await place(newOwnedName(ended), folder, false);
      await place(newOwnedName(elsewhere), folder, true);
      await place(newOwnedName(elsewhere), folder, false);
      await place(newOwnedName(own), folder, true);
      await place(`draft-${'0'.repeat(32)}`, folder, true);
      await place('of-somebody', folder, true);
    }
    const left = (folder: string) =>
      readdir(join(server.folder, folder)).then((names) => names.filter((name) => name.startsWith('.wharf-tmp')).length);
    const driver = await openSftp(itemsOf(server));
    await waitFor('the root to be swept', async () => (await left('.')) === 3);
    expect(await left('below')).toBe(6);
    expect((await Array.fromAsync(driver.list(mpath('/below')))).map(({ name }) => name)).toEqual(['.wharf-tmp-of-somebody']);
    await waitFor('the folder to be swept', async () => (await left('below')) === 3);
    expect(await readFile(join(server.folder, '.wharf-tmp-of-somebody'), 'utf8')).toBe('x');
  });
});
