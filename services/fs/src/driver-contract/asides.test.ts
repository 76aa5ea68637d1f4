import { basename, dirname } from 'node:path/posix';
import { currentOwner } from '@wharf/owned-names';
import { describe, expect, it, vi } from 'vitest';
import { mpath } from '../domain/testing/memory-tree.ts';
import { Calls } from './calls.ts';
import type { Entry } from './storage-driver.ts';
import { Lost, storageError } from './storage-error.ts';
import { TempFiles } from './temp-files.ts';
import { isAbandoned, isDoomedName, isReservedName, newAsideName, newDoomedName, newSpelledName, readAsideName } from './temp-names.ts';

/** No process has this number. */
const ENDED = { ...currentOwner(), pid: 4_194_305 };
const ELSEWHERE = { ...currentOwner(), host: '0'.repeat(12) };
const HOUR_MS = 60 * 60 * 1000;
const LONG = '長'.repeat(80);

/** A server that renames to free names alone, and can be away or refuse. */
function startServer({ alwaysInFolder = false } = {}) {
  const calls = new Calls();
  const files = new Map<string, string>();
  const folders = new Set<string>();
  const told: string[] = [];
  const server = {
    isAway: false,
    keepsFolders: false,
    refusal: undefined as Error | undefined,
    hidden: undefined as string | undefined,
    beforeRemoval: async () => {},
  };
  const reached = () => {
    if (server.isAway) throw storageError('STORAGE_UNAVAILABLE');
  };
  const move = async (from: string, to: string) => {
    reached();
    if (server.refusal) throw server.refusal;
    const content = files.get(from);
    if (folders.delete(from)) {
      folders.add(to);
      for (const [place, inside] of [...files]) {
        if (!place.startsWith(`${from}/`)) continue;
        files.delete(place);
        files.set(to + place.slice(from.length), inside);
      }
      return;
    }
    if (content === undefined || files.has(to)) throw new Error('refused');
    files.delete(from);
    files.set(to, content);
  };
  const open = (again: readonly number[] = []) =>
    new TempFiles(
      {
        placeOf: (folder, name) => (folder === '/' ? `/${name}` : `${folder}/${name}`),
        async remove(place) {
          await server.beforeRemoval();
          reached();
          files.delete(place);
          if (!folders.delete(place)) return;
          for (const inside of [files, folders])
            for (const each of [...inside.keys()]) if (each.startsWith(`${place}/`)) inside.delete(each);
        },
        isRefusal: (error) => error instanceof Error && error.message === 'refused',
        async isThere(place) {
          reached();
          const isHidden = server.hidden === place;
          if (isHidden) server.hidden = undefined;
          return files.has(place) && !isHidden;
        },
        move,
        alone: (_path, work) => work(),
        folders: {
          ...(alwaysInFolder && { always: true as const }),
          make: async (place) => void folders.add(place),
          async remove(place) {
            if (server.keepsFolders || [...files.keys()].some((file) => file.startsWith(`${place}/`))) throw new Error('refused');
            folders.delete(place);
          },
          async *namesIn(place) {
            yield* ['.', '..'];
            for (const each of [...files.keys(), ...folders]) if (each.startsWith(`${place}/`)) yield each.slice(place.length + 1);
          },
        },
        warn: (error) => told.push(String(error)),
      },
      calls,
      { back: [1, 1, 1], again },
    );
  /** What a listing brings back. */
  const list = async (temps: TempFiles, folder = '/') => {
    const places = [...files.keys(), ...folders].filter((place) => dirname(place) === folder);
    const names = places.map((place) => basename(place));
    for (const name of names.filter(isReservedName)) temps.sweep(mpath(folder), name, 0);
    const stat = async (path: string) => ({ name: basename(path) }) as Entry;
    const left = temps.asides.gather(mpath(folder));
    for (const name of names) left.add(name);
    return (await Array.fromAsync(temps.asides.bringLeft(mpath(folder), left, () => false, stat))).map(({ name }) => String(name));
  };
  return { calls, files, folders, told, server, move, open, list };
}

/** As a process leaves it that ends between both moves. */
function stepAsideAndEnd({ files, folders }: ReturnType<typeof startServer>, name: string, owner = ENDED, agoMs = 0): void {
  const aside = newAsideName(owner, name, Date.now() - agoMs);
  if (aside.isFolder) folders.add(`/${aside.name}`);
  files.set(aside.isFolder ? `/${aside.name}/${name}` : `/${aside.name}`, `content of ${name}`);
}

describe('what stepped aside', () => {
  it.each(['file', 'with space ', 'Ä-b.tar.gz', 'two\nlines', 'x'.repeat(60)])('says what it was called: %j', (name) => {
    const aside = newAsideName(ENDED, name, 1_000_000_123_456);
    expect(readAsideName(aside.name, currentOwner())).toEqual({ owner: 'gone', sinceMs: 1_000_000_123_000, of: name, isSettled: false });
    expect([isReservedName(aside.name), isAbandoned(aside.name, 0, currentOwner(), Date.now())]).toEqual([true, false]);
  });

  it('has a name that a disk takes which takes 143 bytes, however long its own is', () => {
    for (const name of ['x', 'x'.repeat(70), LONG, 'y'.repeat(255)]) {
      const aside = newAsideName({ ...ENDED, pid: 4_194_304 }, name, Date.now());
      expect(Buffer.byteLength(aside.name)).toBeLessThanOrEqual(143);
      expect(isReservedName(aside.name)).toBe(true);
    }
  });

  it.each([
    '.wharf-tmp-aside-',
    '.wharf-tmp-aside-6500000-x',
    '.wharf-tmp-aside-65000000-0123-1-2-3-name',
    'aside-65000000-name',
    '.wharf-tmp-asides',
  ])('is not what is called %s', (name) => {
    expect([isReservedName(name), readAsideName(name, currentOwner())]).toEqual([false, undefined]);
  });

  it.each(['file', LONG])('of a process that has ended has its name again: %s', async (name) => {
    const world = startServer();
    stepAsideAndEnd(world, name);
    expect(await world.list(world.open())).toEqual([name]);
    expect([[...world.files], [...world.folders]]).toEqual([[[`/${name}`, `content of ${name}`]], []]);
  });

  it('of another host or container has its name again after ten minutes, and is in use until then', async () => {
    const world = startServer();
    stepAsideAndEnd(world, 'new', ELSEWHERE);
    stepAsideAndEnd(world, 'old', ELSEWHERE, HOUR_MS);
    expect(await world.list(world.open())).toEqual(['old']);
    expect([...world.files.keys()].filter((place) => !isReservedName(place.slice(1)))).toEqual(['/old']);
  });

  it.each(['file', LONG])('stays where something else has its name, which is said once: %s', async (name) => {
    const world = startServer();
    stepAsideAndEnd(world, name);
    world.files.set(`/${name}`, 'another');
    const temps = world.open();
    for (let listing = 0; listing < 3; listing += 1) expect(await world.list(temps)).toEqual([]);
    expect([...world.files.values()].sort()).toEqual(['another', `content of ${name}`]);
    expect(world.told).toHaveLength(1);
    // Nor has it its name again once that one is removed: an old content would be back.
    world.files.delete(`/${name}`);
    expect(await world.list(world.open())).toEqual([]);
    expect([...world.files.values()]).toEqual([`content of ${name}`]);
  });

  it('is looked for in no more names of a listing than are brought back, however many there are and however long', () => {
    const world = startServer();
    const left = world.open().asides.gather(mpath('/'));
    for (let index = 0; index < 10_000; index += 1) left.add(newAsideName(ENDED, `file-${index}`, Date.now()).name);
    left.add(`${newAsideName(ENDED, 'x', Date.now()).name}${'x'.repeat(10_000)}`);
    expect(left.names).toHaveLength(100);
  });

  it('stays where the server refuses to give it its name, which is said once', async () => {
    const world = startServer();
    stepAsideAndEnd(world, 'file');
    world.server.refusal = new Error('refused');
    const temps = world.open();
    for (let listing = 0; listing < 2; listing += 1) expect(await world.list(temps)).toEqual([]);
    expect([[...world.files.values()], world.told.length]).toEqual([['content of file'], 1]);
  });

  it('a folder for it that holds nothing goes', async () => {
    const world = startServer();
    world.folders.add(`/${newAsideName(ENDED, LONG, Date.now()).name}`);
    expect(await world.list(world.open())).toEqual([]);
    expect([...world.folders]).toEqual([]);
  });

  it('leaves no folder behind that could not be removed at once', async () => {
    const { open, files, folders, list, server } = startServer({ alwaysInFolder: true });
    const temps = open();
    files.set('/file', 'old');
    const refusal = new Error('refused');
    const work = async () => {
      server.keepsFolders = true;
      throw refusal;
    };
    await expect(temps.asides.stepAside(mpath('/file'), work, { source: '/.wharf-new' })).rejects.toBe(refusal);
    expect([...folders]).toHaveLength(1);
    server.keepsFolders = false;
    await list(temps);
    expect([[...files], [...folders]]).toEqual([[['/file', 'old']], []]);
  });

  it('lies in a folder where the server wants it so, which goes with it, after a while where it is to linger', async () => {
    const { open, files, folders, move, list, calls } = startServer({ alwaysInFolder: true });
    const temps = open();
    const replace = (lingerMs: number) => {
      files.set('/file', 'old').set('/.wharf-new', 'new');
      const work = async (aside: string) => {
        expect(dirname(aside)).not.toBe('/');
        await move('/file', aside);
        await move('/.wharf-new', '/file');
      };
      return temps.asides.stepAside(mpath('/file'), work, { source: '/.wharf-new', lingerMs: () => lingerMs });
    };
    await replace(0);
    expect([[...files], [...folders]]).toEqual([[['/file', 'new']], []]);
    await replace(60_000);
    expect([...files.values()].sort()).toEqual(['new', 'old']);
    expect(await list(temps)).toEqual([]);
    expect([...folders].filter((place) => dirname(place) === '/')).toHaveLength(1);
    await calls.close();
    expect([[...files], [...folders]]).toEqual([[['/file', 'new']], []]);
  });

  it('never has its name again where its process ended while it was to linger, and goes when that is over', async () => {
    const { open, files, folders, move, list } = startServer({ alwaysInFolder: true });
    files.set('/file', 'old').set('/.wharf-new', 'new');
    const work = async (aside: string) => {
      await move('/file', aside);
      await move('/.wharf-new', '/file');
    };
    await open().asides.stepAside(mpath('/file'), work, { source: '/.wharf-new', lingerMs: () => 60_000 });
    await vi.waitFor(() => expect([...folders]).toHaveLength(2));
    files.delete('/file');
    /** As another process has left it. */
    const leave = (agoMs: number) => {
      const holder = [...folders].find((place) => dirname(place) === '/') ?? '';
      const ended = `/${newAsideName(ENDED, undefined, Date.now() - agoMs).name}`;
      const renamed = (place: string) => place.replace(holder, ended);
      const [were, wereFolders] = [[...files], [...folders]];
      files.clear();
      folders.clear();
      for (const [place, content] of were) files.set(renamed(place), content);
      for (const place of wereFolders) folders.add(renamed(place));
    };
    leave(0);
    expect(await list(open())).toEqual([]);
    expect([...files.values()]).toEqual(['old']);
    leave(HOUR_MS);
    expect(await list(open())).toEqual([]);
    expect([[...files], [...folders]]).toEqual([[], []]);
  });
});

describe.each(['/file', `/${LONG}`])('a replacement of %s', (path) => {
  const stepAside = (temps: TempFiles, work: (aside: string) => Promise<void>) =>
    temps.asides.stepAside(mpath(path), work, { source: '/.wharf-new' });
  const replace = ({ move }: ReturnType<typeof startServer>, temps: TempFiles) =>
    temps.asides.stepAside(mpath(path), async (aside) => {
      await move(path, aside);
      await move('/.wharf-new', path);
    });
  const start = () => {
    const world = startServer();
    world.files.set(path, 'old').set('/.wharf-new', 'new');
    return world;
  };

  it('leaves the new content alone', async () => {
    const world = start();
    await replace(world, world.open());
    expect([[...world.files], [...world.folders]]).toEqual([[[path, 'new']], []]);
  });

  it.each(['the same storage', 'another one'])('whose old content is being removed is no news for a listing of %s', async (which) => {
    const world = start();
    const temps = world.open();
    const listing = which === 'another one' ? world.open() : temps;
    world.server.beforeRemoval = async () => void (await world.list(listing));
    await replace(world, temps);
    expect([[...world.files], [...world.folders], world.told]).toEqual([[[path, 'new']], [], []]);
  });

  it.each(['the same storage', 'another one'])(
    'whose old content cannot be removed does not bring that back once the new one is removed, by a listing of %s',
    async (which) => {
      const world = start();
      const temps = world.open();
      world.server.beforeRemoval = async () => {
        throw new Error('refused');
      };
      await replace(world, temps);
      world.files.delete(path);
      expect(await world.list(which === 'another one' ? world.open() : temps)).toEqual([]);
      expect(world.files.has(path)).toBe(false);
    },
  );

  it('that is refused leaves the old content, by its name', async () => {
    const world = start();
    world.files.delete('/.wharf-new');
    await expect(replace(world, world.open())).rejects.toThrow('refused');
    expect([[...world.files], [...world.folders]]).toEqual([[[path, 'old']], []]);
  });

  const cutOff = (world: ReturnType<typeof startServer>, temps: TempFiles) =>
    temps.asides.stepAside(mpath(path), async (aside) => {
      await world.move(path, aside);
      world.server.isAway = true;
      await world.move('/.wharf-new', path);
    });

  it('that is cut off has its old content back before the call ends, once the server is back', async () => {
    const world = start();
    const replacing = cutOff(world, world.open());
    setImmediate(() => {
      world.server.isAway = false;
    });
    await expect(replacing).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect([world.files.get(path), [...world.folders]]).toEqual(['old', []]);
  });

  it.each(['refuses it', 'says that there is nothing'])(
    'whose way back fails once, as the server %s, has it back with a listing',
    async (how) => {
      const world = start();
      const temps = world.open();
      const replacing = temps.asides.stepAside(mpath(path), async (aside) => {
        await world.move(path, aside);
        if (how === 'refuses it') world.server.refusal = new Error('refused');
        else world.server.hidden = aside;
        throw new Error('refused');
      });
      await expect(replacing).rejects.toThrow();
      expect(world.files.has(path)).toBe(false);
      world.server.refusal = undefined;
      expect(await world.list(temps)).toEqual([path.slice(1)]);
      expect([world.files.get(path), [...world.folders]]).toEqual(['old', []]);
    },
  );

  /** The server is told to move the old file aside, says nothing of it, and does so once something newer is there. */
  const stepAsideLate = async (world: ReturnType<typeof startServer>, temps: TempFiles) => {
    let place = '';
    const replacing = stepAside(temps, async (aside) => {
      place = aside;
      throw new Error('lost');
    });
    await expect(replacing).rejects.toThrow('lost');
    world.files.delete('/.wharf-new');
    world.files.set(path, 'newer');
    await world.move(path, place);
  };

  it('whose old file steps aside late, when it was told as failed, has what was there by then back by itself', async () => {
    const world = start();
    await stepAsideLate(world, world.open([1, 1, 1]));
    await vi.waitFor(() => expect(world.files.get(path)).toBe('newer'));
    expect([[...world.files], [...world.folders], world.told]).toEqual([[[path, 'newer']], [], []]);
  });

  it.each(['it', 'something in it'])('whose old file steps aside late has it back before %s is looked at', async (what) => {
    const world = start();
    const temps = world.open();
    await stepAsideLate(world, temps);
    await temps.asides.bringMissed(mpath('/another'));
    expect(world.files.has(path)).toBe(false);
    await temps.asides.bringMissed(mpath(what === 'it' ? path : `${path}/inside`));
    expect([[...world.files], [...world.folders], world.told]).toEqual([[[path, 'newer']], [], []]);
  });

  it('whose old file steps aside late keeps it, which is said, where its name is taken at once', async () => {
    const world = start();
    const temps = world.open();
    await stepAsideLate(world, temps);
    world.files.set(path, "somebody's");
    await temps.asides.bringMissed(mpath(path));
    expect([...world.files.values()].sort()).toEqual(['newer', "somebody's"]);
    expect(world.told).toHaveLength(1);
  });

  it('whose old file does not come back is looked for no longer once its storage is closed', async () => {
    const world = start();
    const replacing = stepAside(world.open([60_000]), () => Promise.reject(new Error('lost')));
    await expect(replacing).rejects.toThrow('lost');
    await world.calls.close();
    expect([...world.files]).toEqual([
      [path, 'old'],
      ['/.wharf-new', 'new'],
    ]);
  });

  it('whose way back fails once leaves alone what was stored by its name since', async () => {
    const world = start();
    const temps = world.open();
    const replacing = stepAside(temps, async (aside) => {
      await world.move(path, aside);
      world.server.hidden = aside;
      throw new Error('refused');
    });
    await expect(replacing).rejects.toThrow();
    world.files.set(path, 'newer');
    expect(await world.list(temps)).toEqual([]);
    await world.calls.close();
    expect([...world.files.values()].sort()).toEqual(['new', 'newer', 'old']);
    expect(world.told).toHaveLength(1);
  });

  it.each(['before it', 'instead of it'])('whose name somebody takes meanwhile, %s, keeps the old content, which is said', async (when) => {
    const world = start();
    const temps = world.open();
    const replacing = stepAside(temps, async (aside) => {
      await world.move(path, aside);
      world.files.set(path, "somebody's");
      if (when === 'before it') throw new Error('refused');
      world.server.isAway = true;
      setImmediate(() => {
        world.server.isAway = false;
      });
      await world.move('/.wharf-new', path);
    });
    await expect(replacing).rejects.toThrow();
    world.files.delete('/.wharf-new');
    expect(await world.list(temps)).toEqual([]);
    expect([...world.files.values()].sort()).toEqual(['old', "somebody's"]);
    expect(world.told).toHaveLength(1);
  });

  it('whose answer is lost drops the old content where the new one has its name', async () => {
    const world = start();
    const replacing = stepAside(world.open(), async (aside) => {
      await world.move(path, aside);
      await world.move('/.wharf-new', path);
      throw new Error('lost');
    });
    await expect(replacing).rejects.toThrow('lost');
    expect([[...world.files], [...world.folders]]).toEqual([[[path, 'new']], []]);
  });

  it('that finds its folder by another name is back there with the next listing', async () => {
    const world = start();
    const temps = world.open();
    const replacing = stepAside(temps, async (aside) => {
      await world.move(path, aside);
      for (const place of [...world.files.keys()]) {
        world.files.set(`/moved${place}`, world.files.get(place) ?? '');
        world.files.delete(place);
      }
      for (const place of [...world.folders]) world.folders.add(`/moved${place}`).delete(place);
      throw new Error('refused');
    });
    await expect(replacing).rejects.toThrow('refused');
    expect(await world.list(temps, '/moved')).toEqual([path.slice(1)]);
    expect(world.files.get(`/moved${path}`)).toBe('old');
  });

  it.each(['another call', 'the end of the storage'])('whose server stays away has it back with %s', async (sign) => {
    const world = start();
    const temps = world.open();
    await expect(cutOff(world, temps)).rejects.toBeInstanceOf(Lost);
    expect([world.files.get(path), await world.list(temps)]).toEqual([undefined, []]);
    expect([...world.files.values()].sort()).toEqual(['new', 'old']);
    world.server.isAway = false;
    if (sign === 'another call') {
      temps.removeLeft();
      await vi.waitFor(() => expect(world.files.get(path)).toBe('old'));
    }
    await world.calls.close();
    expect([world.files.get(path), [...world.folders]]).toEqual(['old', []]);
  });
});

it('what was to be spelled otherwise is not removed where its name is taken before it is back', async () => {
  const world = startServer();
  world.files.set('/Photos', 'all there is');
  const temps = world.open();
  const respelling = temps.asides.stepAside(
    mpath('/Photos'),
    async (aside) => {
      await world.move('/Photos', aside);
      world.server.isAway = true;
      await world.move(aside, '/photos');
    },
    { isRespelled: true },
  );
  await expect(respelling).rejects.toBeInstanceOf(Lost);
  world.server.isAway = false;
  world.files.set('/Photos', "somebody's");
  temps.removeLeft();
  await world.calls.close();
  expect([...world.files.values()].sort()).toEqual(['all there is', "somebody's"]);
});

it('the name of a folder that was removed is one of ours, and is swept by its own date after two days', () => {
  const now = Date.now();
  const hours = (count: number) => newDoomedName(now - count * 3_600_000);
  const spelled = newSpelledName(now);
  const names = [hours(0), hours(49), spelled, spelled.normalize('NFD'), '.wharf-tmp-doomed-x', `${spelled}x`];
  expect(names.map((name) => [isReservedName(name), isDoomedName(name)])).toEqual([
    [true, true],
    [true, true],
    [true, true],
    [true, true],
    [false, false],
    [false, false],
  ]);
  expect([hours(0), hours(47), hours(49)].map((name) => isAbandoned(name, 0, currentOwner(), now))).toEqual([false, false, true]);
});
