import { currentOwner } from '@wharf/owned-names';
import { MOUNT_ROOT, type MountPath } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { usedBytes } from '../domain/testing/used-bytes.ts';
import { Calls } from './calls.ts';
import { storageError } from './storage-error.ts';
import { TempFiles } from './temp-files.ts';
import { newBesideName } from './temp-names.ts';

/** Files of a server that can be away. */
function startFiles() {
  const calls = new Calls();
  const there = new Set<string>();
  const server = { isAway: false };
  const temps = new TempFiles(
    {
      placeOf: (folder, name) => `${folder}/${name}`,
      async remove(place) {
        calls.connecting.throwIfAborted();
        if (server.isAway) throw storageError('STORAGE_UNAVAILABLE');
        there.delete(place);
      },
      isRefusal: () => false,
      isThere: async (place) => there.has(place),
      move: async () => undefined,
      alone: (_path, work) => work(),
      warn: () => undefined,
    },
    calls,
  );
  const make = () => {
    const place = temps.newPlace(MOUNT_ROOT);
    there.add(place);
    return place;
  };
  return { calls, temps, there, server, make };
}

describe('files on their way, on a server that was away', () => {
  it('are removed when the storage is closed, by a connection that is begun then', async () => {
    const { calls, temps, there, server, make } = startFiles();
    const place = make();
    server.isAway = true;
    await temps.discard(place);
    expect([...there]).toEqual([place]);
    server.isAway = false;
    await calls.close();
    expect([...there]).toEqual([]);
  });

  it('are removed at a sign that it is back, and kept in mind while it is not', async () => {
    const { calls, temps, there, server, make } = startFiles();
    const place = make();
    server.isAway = true;
    await temps.discard(place);
    temps.removeLeft();
    await new Promise(setImmediate);
    expect([...there]).toEqual([place]);
    server.isAway = false;
    temps.removeLeft();
    await new Promise(setImmediate);
    expect([...there]).toEqual([]);
    await calls.close();
  });

  it('give up with the storage: what closes ends, and connects no more', async () => {
    const { calls, temps, there, server, make } = startFiles();
    const place = make();
    server.isAway = true;
    await temps.discard(place);
    await calls.close();
    expect([...there]).toEqual([place]);
    expect(calls.connecting.aborted).toBe(true);
  });

  it('are remembered as far as their paths are short: those of long ones are found by listings (C18)', async () => {
    const { calls, temps, there, server, make } = startFiles();
    server.isAway = true;
    const before = usedBytes();
    for (let index = 0; index < 1_500; index += 1)
      await temps.discard(temps.newPlace(Buffer.from(`/${index}${'/long'.repeat(800)}`).toString() as MountPath));
    // Their paths have 6 MB.
    expect(usedBytes() - before).toBeLessThan(1_500_000);
    server.isAway = false;
    const late = make();
    await temps.discard(late);
    there.add(late);
    temps.sweep(MOUNT_ROOT, late.slice(`${MOUNT_ROOT}/`.length), Date.now());
    await calls.close();
    expect([...there]).toEqual([]);
  });

  it('are removed again where a write reaches its end on the server after it was taken back', async () => {
    const { calls, temps, there, make } = startFiles();
    const [late, running] = [make(), make()];
    await temps.discard(late);
    there.add(late);
    for (const place of [late, running]) temps.sweep(MOUNT_ROOT, place.slice(`${MOUNT_ROOT}/`.length), Date.now());
    await new Promise(setImmediate);
    expect([...there]).toEqual([running]);
    await calls.close();
  });

  it('of processes elsewhere stay while they have an old date for a moment only, which may be the one that their file is to have', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { calls, temps, there } = startFiles();
    const [elsewhere, ended] = [{ host: 'f'.repeat(12) }, { pid: 4_194_305 }].map((other) =>
      newBesideName({ ...currentOwner(), ...other }),
    );
    const look = async () => {
      for (const place of [...there]) temps.sweep(MOUNT_ROOT, place.slice(`${MOUNT_ROOT}/`.length), 0);
      await new Promise(setImmediate);
      return [...there];
    };
    const placeOf = (name = '') => temps.placeOf(MOUNT_ROOT, name);
    for (const name of [elsewhere, ended]) there.add(placeOf(name));
    expect(await look()).toEqual([placeOf(elsewhere)]);
    vi.setSystemTime(Date.now() + 60_000);
    expect(await look()).toEqual([placeOf(elsewhere)]);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(await look()).toEqual([]);
    await calls.close();
  });
});
