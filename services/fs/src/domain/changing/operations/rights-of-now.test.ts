import { setImmediate } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { decorated, operationsOf } from '../../../driver-contract/complete-driver.ts';
import type { StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../../../drivers/memory/driver.ts';
import { denied } from '../../access/permissions.ts';
import { openLimited } from '../../testing/limited-storage.ts';
import { actor, openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED, without } from '../../testing/three-storages.ts';
import { batchRename } from './batch-rename.ts';
import { makeDirectory } from './make-directory.ts';
import type { Operation } from './operation.ts';
import { placeEntries } from './place-entries.ts';
import { recursiveMove } from './recursive-move.ts';
import { regexRename } from './regex-rename.ts';
import { removeEmptyDirectories } from './remove-empty-directories.ts';
import { removeEntries } from './remove-entries.ts';
import { renameEntry } from './rename-entry.ts';
import { areSameRules } from './rights-of-now.ts';

const NAMES = ['a', 'b', 'c'];
/** For each name one step, which takes a second more than rights are believed. */
const SLOW_MS = 3_000;
const never = () => Promise.reject(new Error('not to be queued'));
const place = (overwrite = false) => ({ src_dir: '/in', dst_dir: '/out', names: NAMES, overwrite, skip_existing: false });

/** What goes name by name, the right that it needs, and what is there when the first name is done. */
const CHANGES = {
  removal: {
    run: (now: Operation) => removeEntries(now, { dir: '/in', names: NAMES }),
    right: 'delete',
    left: ['/in/b', '/in/c', '/out/'],
  },
  move: { run: (now: Operation) => placeEntries(now, place(), 'move', never), right: 'move', left: ['/in/b', '/in/c', '/out/a'] },
  copy: { run: (now: Operation) => placeEntries(now, place(), 'copy', never), right: 'copy', left: ['/in/a', '/in/b', '/in/c', '/out/a'] },
  'recursive move': {
    run: (now: Operation) => recursiveMove(now, { src_dir: '/in', dst_dir: '/out', conflict_policy: 'cancel' }, never),
    right: 'move',
    left: ['/in/b', '/in/c', '/out/a'],
  },
  'batch rename': {
    run: (now: Operation) =>
      batchRename(now, { src_dir: '/in', rename_objects: NAMES.map((name) => ({ src_name: name, new_name: `${name}x` })) }),
    right: 'rename',
    // All or none.
    left: ['/in/a', '/in/b', '/in/c', '/out/'],
  },
} as const;

async function openSlow(profile = {}, slow: readonly ('stat' | 'remove' | 'rename' | 'copy')[] = ['remove', 'rename', 'copy']) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver(profile);
  for (const call of slow) {
    const own = store[call].bind(store) as (...given: unknown[]) => Promise<unknown>;
    Object.assign(store, {
      [call]: async (...given: unknown[]) => {
        const answer = await own(...given);
        vi.advanceTimersByTime(SLOW_MS);
        return answer;
      },
    });
  }
  let slowLooks = 0;
  const [list, stat] = [store.list.bind(store), store.stat.bind(store)];
  const look = () => {
    if (slowLooks > 0) vi.advanceTimersByTime(SLOW_MS);
    slowLooks -= 1;
  };
  store.list = (...given) => {
    look();
    return list(...given);
  };
  store.stat = (...given) => {
    look();
    return stat(...given);
  };
  const memory = await openLimited(store);
  for (const name of NAMES) await memory.put(`/in/${name}`);
  await memory.makeFolder('/out');
  const slowDown = (looks = Number.POSITIVE_INFINITY) => {
    slowLooks = looks;
  };
  return { ...memory, slowDown };
}

describe.each(Object.entries(CHANGES))('a %s of many names ends with the next one', (what, { run, right, left }) => {
  it.each(['the user is disabled', 'the right is withdrawn', 'the root is another one', 'a rule closes the folder'])(
    'when %s',
    async (how) => {
      const memory = await openSlow();
      const begun = memory.operation();
      const closed = await openTree({
        rules: [{ path: '/in', read_users: [99], read_users_sub: true, write_users: [99], write_users_sub: true }],
      });
      const now: Record<string, Partial<Operation>> = {
        'the right is withdrawn': { actor: without(right) },
        'the root is another one': { actor: actor({ basePath: vpath('/out') }) },
        'a rule closes the folder': { snapshot: { ...begun.snapshot, rules: closed.snapshot.rules } },
      };
      const renewed = async () => {
        if (how === 'the user is disabled') throw denied();
        return { ...begun, ...now[how] };
      };
      const before = await memory.everything();
      const [code] = await refusalOf(run({ ...begun, renewed }));
      expect(code).toBe(DENIED[0]);
      // What a storage has placed in one step goes back; who is disabled has what was allowed until then.
      const isPlaced = what === 'move' || what === 'copy' || what === 'recursive move';
      expect(await memory.everything()).toEqual(isPlaced && how !== 'the user is disabled' ? before : left);
    },
  );

  it('not where the store is away for a moment', async () => {
    const memory = await openSlow();
    const begun = memory.operation();
    let asked = 0;
    const renewed = async () => {
      asked += 1;
      if (asked < 3) throw new Error('the store is away');
      return { ...begun };
    };
    await run({ ...begun, renewed });
    expect(await memory.everything()).not.toEqual(left);
  });

  it('not while nothing has changed', async () => {
    const memory = await openSlow();
    const begun = memory.operation();
    await run({ ...begun, renewed: async () => ({ ...begun }) });
    expect(await memory.everything()).not.toEqual(left);
  });
});

it.each(Object.entries(CHANGES))('a %s that has waited for its turn asks before its first name', async (_what, { run }) => {
  const memory = await openSlow({}, []);
  const begun = memory.operation();
  vi.advanceTimersByTime(SLOW_MS);
  const before = await memory.everything();
  expect(await refusalOf(run({ ...begun, renewed: () => Promise.reject(denied()) }))).toEqual(DENIED);
  expect(await memory.everything()).toEqual(before);
});

it.each<[string, (now: Operation) => Promise<void>]>([
  ['by pattern', (now) => regexRename(now, { src_dir: '/in', src_name_regex: '^a$', new_name_regex: 'x' })],
  ['of one name', (now) => renameEntry(now, { path: '/in/a', name: 'x', overwrite: true })],
])('a rename %s asks before the first name where the look at what is there took long', async (_which, rename) => {
  const memory = await openSlow();
  const begun = memory.operation();
  const left = await memory.everything();
  memory.slowDown();
  expect(await refusalOf(rename({ ...begun, renewed: () => Promise.reject(denied()) }))).toEqual(DENIED);
  expect(await memory.everything()).toEqual(left);
});

it.each(['the user is disabled', 'a rule guards what is in it'])('a folder keeps its name when %s while it is looked at', async (how) => {
  const memory = await openSlow({}, ['stat']);
  const begun = memory.operation();
  const guarded = await openTree({ rules: [{ path: '/in/a', password: 'a secret' }] });
  const renewed = async () => {
    if (how === 'the user is disabled') throw denied();
    return { ...begun, snapshot: { ...begun.snapshot, rules: guarded.snapshot.rules } };
  };
  expect(await refusalOf(renameEntry({ ...begun, renewed }, { path: '/in', name: 'open', overwrite: false }))).toEqual(DENIED);
  expect(await memory.everything()).toContain('/in/a');
});

it.each([
  ['the user is disabled', DENIED],
  ['another rule holds', ['OVERLOADED', 'the storage is busy, try again in a moment']],
  ['nothing has changed', undefined],
])('a folder that waits long for its turn is made as before: %s', async (how, refused) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const held = Promise.withResolvers<void>();
  const store = new MemoryDriver({});
  const make = store.makeDirectory.bind(store);
  store.makeDirectory = (...given) => held.promise.then(() => make(...given));
  const memory = await openLimited(store, { names: 1 });
  const begun = memory.operation();
  const closed = await openTree({ rules: [{ path: '/in', password: 'a secret' }] });
  const renewed = async () => {
    if (how === 'the user is disabled') throw denied();
    return how === 'another rule holds' ? { ...begun, snapshot: { ...begun.snapshot, rules: closed.snapshot.rules } } : { ...begun };
  };
  const first = makeDirectory(begun, '/first');
  const second = refusalOf(makeDirectory({ ...begun, renewed }, '/second')).catch(() => undefined);
  // Both have come to the storage.
  await setImmediate();
  vi.advanceTimersByTime(SLOW_MS);
  held.resolve();
  await first;
  expect(await second).toEqual(refused);
  expect(await memory.everything()).toEqual(refused ? ['/first/'] : ['/first/', '/second/']);
});

it.each(['move', 'copy'] as const)(
  'a %s is not made where the look for its folder took long, and the user is disabled by then',
  async (verb) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = new MemoryDriver({});
    const call = verb === 'move' ? 'rename' : 'copy';
    const [make, placed] = [store.makeDirectory.bind(store), store[call].bind(store)];
    store.makeDirectory = async (...given) => {
      vi.advanceTimersByTime(SLOW_MS);
      return make(...given);
    };
    store[call] = async (from, to, options) => {
      await options.afterWaiting?.();
      return placed(from, to, options);
    };
    const memory = await openLimited(store, { names: 1 });
    for (const name of NAMES) await memory.put(`/in/${name}`);
    await memory.makeFolder('/out');
    const before = await memory.everything();
    const begun = { ...memory.operation(), renewed: () => Promise.reject(denied()) };
    expect(await refusalOf(placeEntries(begun, place(), verb, never))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(before);
  },
);

it('an empty folder that waits long for its turn stays where whoever has it removed is disabled meanwhile', async () => {
  const store = new MemoryDriver({});
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const remove = store.remove.bind(store);
  store.remove = async (path, options) => {
    vi.advanceTimersByTime(SLOW_MS);
    await options.afterWaiting?.();
    await remove(path, options);
  };
  const memory = await openLimited(store, { names: 1 });
  await memory.makeFolder('/empty/a');
  const removal = removeEmptyDirectories({ ...memory.operation(), renewed: () => Promise.reject(denied()) }, { src_dir: '/empty' });
  expect(await refusalOf(removal)).toEqual(DENIED);
  expect(await memory.everything('/empty')).toEqual(['/empty/a/']);
});

it('empty folders stay where whoever has them removed is disabled meanwhile', async () => {
  const memory = await openSlow();
  for (const name of NAMES) await memory.makeFolder(`/empty/${name}`);
  const renewed = () => Promise.reject(new AppError('UNAUTHENTICATED', 'token is invalidated'));
  const [code] = await refusalOf(removeEmptyDirectories({ ...memory.operation(), renewed }, { src_dir: '/empty' }));
  expect(code).toBe('UNAUTHENTICATED');
  expect(await memory.everything('/empty')).toEqual(['/empty/b/', '/empty/c/']);
});

it('empty folders stay where the look at how many there are took long, and the user is disabled by then', async () => {
  const memory = await openSlow({ hasObjects: true }, []);
  await memory.makeFolder('/empty/a');
  const left = await memory.everything('/empty');
  memory.slowDown(1);
  const removal = removeEmptyDirectories({ ...memory.operation(), renewed: () => Promise.reject(denied()) }, { src_dir: '/empty' }, never);
  expect(await refusalOf(removal)).toEqual(DENIED);
  expect(await memory.everything('/empty')).toEqual(left);
});

it('a name that is taken meanwhile is replaced only where the rules of now let it', async () => {
  const memory = await openSlow();
  const begun = memory.operation(without('access_without_password'));
  const closed = await openTree({ rules: [{ path: '/out/b', password: 'a secret' }] });
  const renewed = async () => {
    await memory.put('/out/b', 'guarded');
    return { ...begun, snapshot: { ...begun.snapshot, rules: closed.snapshot.rules } };
  };
  expect(await refusalOf(placeEntries({ ...begun, renewed }, place(true), 'copy', never))).toEqual(['ENTRY_EXISTS', 'file [b] exists']);
  expect(await memory.textOf('/out/b')).toBe('guarded');
});

it('the removal of a large folder is begun by the rules of now, though they are others than when the call began', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver({ hasObjects: true });
  const remove = store.remove.bind(store);
  store.remove = async (...given) => {
    vi.advanceTimersByTime(SLOW_MS);
    return remove(...given);
  };
  const beginRemoval: StorageDriver['beginRemoval'] = async (paths, options) => {
    vi.advanceTimersByTime(SLOW_MS);
    await options?.afterWaiting?.();
    return paths.map(() => 'begun');
  };
  const memory = await openLimited(Object.assign(store, { beginRemoval }));
  for (let file = 0; file <= 1_000; file += 1) await memory.put(`/in/large/${file}`);
  await memory.put('/in/a');
  const { snapshot } = await openTree({ rules: [{ path: '/other', password: 'x', p_sub: true }] });
  const begun = memory.operation();
  const later = { ...begun, snapshot: { ...begun.snapshot, rules: snapshot.rules } };
  const renewed = async (): Promise<Operation> => ({ ...later, renewed });
  const queued: unknown[] = [];
  await removeEntries({ ...begun, renewed }, { dir: '/in', names: ['large', 'a'] }, async (more) => void queued.push(...more));
  expect(queued).toMatchObject([{ path: '/in/large', begun: 'begun' }]);
});

it('the removal of a large folder is not begun where its user is disabled while what is beside it goes', async () => {
  const memory = await openSlow({ hasObjects: true });
  for (let file = 0; file <= 1_000; file += 1) await memory.put(`/in/large/${file}`);
  const removal = removeEntries(
    { ...memory.operation(), renewed: () => Promise.reject(denied()) },
    { dir: '/in', names: ['large', ...NAMES] },
    never,
  );
  expect(await refusalOf(removal)).toEqual(DENIED);
  expect(await memory.everything('/in')).toHaveLength(1_001 + NAMES.length - 1);
});

it.each([
  ['copied', 'of one name', ['/in/a', '/in/b', '/in/c', '/out/']],
  ['copied', 'of several', ['/in/a', '/in/b', '/in/c', '/out/']],
  ['read and written', 'of one name', ['/in/a', '/in/b', '/in/c', '/out/']],
  ['read and written', 'of several', ['/in/a', '/in/b', '/in/c', '/out/']],
])('a file keeps its place when its user is disabled while it is %s for a new name, in a rename %s', async (how, which, left) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver({});
  const memory = await openLimited(
    decorated({
      ...operationsOf(store),
      rename: undefined,
      copy:
        how === 'copied'
          ? async (...given) => {
              const copied = await store.copy(...given);
              vi.advanceTimersByTime(SLOW_MS);
              return copied;
            }
          : undefined,
      write: async (...given) => {
        vi.advanceTimersByTime(SLOW_MS);
        return store.write(...given);
      },
    }),
  );
  for (const name of NAMES) await memory.put(`/in/${name}`);
  await memory.makeFolder('/out');
  const now = { ...memory.operation(), renewed: () => Promise.reject(denied()) };
  const rename =
    which === 'of one name'
      ? renameEntry(now, { path: '/in/a', name: 'x', overwrite: false })
      : batchRename(now, { src_dir: '/in', rename_objects: [{ src_name: 'a', new_name: 'x' }] });
  expect(await refusalOf(rename)).toEqual(DENIED);
  expect(await memory.everything()).toEqual(left);
});

it('a file that a rename is to replace stays where it is guarded while the other one is read and written', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver({});
  const write: typeof store.write = async (...given) => {
    vi.advanceTimersByTime(SLOW_MS);
    return store.write(...given);
  };
  const memory = await openLimited(decorated({ ...operationsOf(store), rename: undefined, copy: undefined, write }));
  for (const name of ['a', 'b']) await memory.put(`/in/${name}`, name);
  const begun = memory.operation(without('access_without_password'));
  const guarded = await openTree({ rules: [{ path: '/in/b', password: 'a secret' }] });
  const renewed = async () => ({ ...begun, snapshot: { ...begun.snapshot, rules: guarded.snapshot.rules } });
  expect(await refusalOf(renameEntry({ ...begun, renewed }, { path: '/in/a', name: 'b', overwrite: true }))).toEqual(DENIED);
  expect([await memory.textOf('/in/a'), await memory.textOf('/in/b')]).toEqual(['a', 'b']);
});

it.each<[string, (now: Operation) => Promise<unknown>]>([
  ['removed', (now) => removeEntries(now, { dir: '/in', names: ['a', 'd'] })],
  ['moved', (now) => placeEntries(now, { ...place(), names: ['a', 'd'] }, 'move', never)],
  [
    'renamed',
    (now) => batchRename(now, { src_dir: '/in', rename_objects: ['a', 'd'].map((name) => ({ src_name: name, new_name: `${name}x` })) }),
  ],
])('a folder is not %s where its user is disabled while it is looked through by a new rule', async (_what, change) => {
  const memory = await openSlow();
  await memory.put('/in/d/file');
  const begun = memory.operation(without('see_hides'));
  const hiding = await openTree({ rules: [{ path: '/in', hide: '^secret$', h_sub: true }] });
  let asked = 0;
  const renewed = async (): Promise<Operation> => {
    asked += 1;
    if (asked > 1) throw denied();
    memory.slowDown();
    return { ...begun, renewed, snapshot: { ...begun.snapshot, rules: hiding.snapshot.rules } };
  };
  expect(await refusalOf(change({ ...begun, renewed }))).toEqual(DENIED);
  expect(await memory.everything('/in')).toContain('/in/d/file');
});

it.each<[string, (now: Operation) => Promise<unknown>]>([
  ['a folder is not made', (now) => makeDirectory(now, '/in/large/new')],
  ['a folder does not go', (now) => removeEntries(now, { dir: '/in', names: ['large'] }, never)],
])('%s where its user is disabled while we look at what is there before it', async (_what, change) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver({ hasObjects: true });
  const [stat, list, make, remove] = [
    store.stat.bind(store),
    store.list.bind(store),
    store.makeDirectory.bind(store),
    store.remove.bind(store),
  ];
  let isSlow = false;
  const look = () => void (isSlow && vi.advanceTimersByTime(SLOW_MS));
  Object.assign<StorageDriver, Partial<StorageDriver>>(store, {
    stat(...given) {
      look();
      return stat(...given);
    },
    list(...given) {
      look();
      return list(...given);
    },
    async makeDirectory(path, options) {
      await options?.afterWaiting?.();
      return make(path);
    },
    async remove(path, options) {
      await options.afterWaiting?.();
      return remove(path, options);
    },
  });
  const memory = await openLimited(store);
  await memory.put('/in/large/file');
  const { snapshot } = await openTree({ rules: [{ path: '/', write_users: [99] }] });
  isSlow = true;
  const begun = memory.operation(without('access_without_password'));
  const renewed = () => Promise.reject(denied());
  expect(await refusalOf(change({ ...begun, snapshot: { ...begun.snapshot, rules: snapshot.rules }, renewed }))).toEqual(DENIED);
  isSlow = false;
  expect(await memory.everything('/in')).toEqual(['/in/large/file']);
});

it('names go back where whoever changed them may no more, and the storage has much to do', async () => {
  const store = new MemoryDriver({});
  let isDisabled = false;
  const rename = store.rename.bind(store);
  store.rename = async (from, to, options) => {
    await options.afterWaiting?.();
    if (from === '/in/b') {
      isDisabled = true;
      throw new AppError('STORAGE_UNAVAILABLE', 'it went away');
    }
    return rename(from, to, options);
  };
  const memory = await openLimited(store);
  for (const name of NAMES) await memory.put(`/in/${name}`);
  const begun = memory.operation();
  const renewed = async () => {
    if (isDisabled) throw denied();
    return begun;
  };
  const rename_objects = NAMES.map((name) => ({ src_name: name, new_name: `${name}x` }));
  const refusal = await refusalOf(batchRename({ ...begun, renewed }, { src_dir: '/in', rename_objects }));
  expect(refusal).toEqual(['STORAGE_UNAVAILABLE', 'it went away']);
  expect(await memory.everything()).toEqual(['/in/a', '/in/b', '/in/c']);
});

it('others have their turns while all rules are compared with those of then', async () => {
  const rules = async () => {
    const { snapshot } = (await openTree({})).operation();
    const records = Array.from({ length: 1_000 }, (_, _id) => ({ _id, path: `/${_id}`, read_users: [1, 2] }));
    return { ...snapshot, rules: { ...snapshot.rules, records: records as never } };
  };
  const [before, now] = [await rules(), await rules()];
  // The turn of before, which other clocks were for, is over.
  await setImmediate();
  // Each look at the clock of the thread takes a millisecond, on whatever machine.
  let threadMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (threadMs += 1));
  onTestFinished(() => clock.mockRestore());
  const watched = { turns: 0, isOver: false };
  const watch = () => {
    watched.turns += 1;
    if (!watched.isOver) globalThis.setImmediate(watch);
  };
  globalThis.setImmediate(watch);
  expect(await areSameRules(now, before)).toBe(true);
  watched.isOver = true;
  expect(watched.turns).toBeGreaterThan(50);
});
