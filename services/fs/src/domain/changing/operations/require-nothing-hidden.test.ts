import { AppError } from '@wharf/errors';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { aliasDriver } from '../../../drivers/alias/index.ts';
import { cryptDriver } from '../../../drivers/crypt/index.ts';
import { locate } from '../../snapshot/snapshot.ts';
import { lateDriver } from '../../testing/late-driver.ts';
import { actor, bytesOf, type MemoryTree, mpath, openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { createTestDriver } from '../../testing/test-drivers.ts';
import { DENIED } from '../../testing/three-storages.ts';
import { batchRename } from './batch-rename.ts';
import type { Operation } from './operation.ts';
import { placeEntries, type QueueItems } from './place-entries.ts';
import { planPlacement } from './plan-placement.ts';
import { PLANS } from './plan-room.ts';
import { regexRename } from './regex-rename.ts';
import { removeEntries } from './remove-entries.ts';
import { renameEntry } from './rename-entry.ts';

const place = (names: string[], dst_dir: string, overwrite = false) => ({ src_dir: '/a', dst_dir, names, overwrite, skip_existing: false });

/** What goes to another storage is done by tasks; here only the checks count. */
const queue = async () => {};
const never = () => Promise.reject(new Error('not to be queued'));

/** Everything that may happen to a folder as a whole. */
const OPERATIONS: readonly (readonly [string, (operation: Operation, name: string) => Promise<unknown>])[] = [
  ['rename', (operation, name) => renameEntry(operation, { path: `/a/${name}`, name: 'new', overwrite: false })],
  ['batch_rename', (operation, name) => batchRename(operation, { src_dir: '/a', rename_objects: [{ src_name: name, new_name: 'new' }] })],
  ['regex_rename', (operation, name) => regexRename(operation, { src_dir: '/a', src_name_regex: `^${name}$`, new_name_regex: 'new' })],
  ['move', (operation, name) => placeEntries(operation, place([name], '/b'), 'move', queue)],
  ['copy', (operation, name) => placeEntries(operation, place([name], '/b'), 'copy', queue)],
  ['remove', (operation, name) => removeEntries(operation, { dir: '/a', names: [name] })],
];

const blind = actor({ permission: 0xfffe });
const HIDING = [
  ['a rule above, with h_sub', { path: '/', hide: '^secret', h_sub: true }],
  ['a rule at the folder', { path: '/a/d', hide: '^secret', h_sub: true }],
  ['a rule in it', { path: '/a/d/e', hide: '^secret' }],
] as const;

describe.each(OPERATIONS)('C16: %s of a folder', (_verb, act) => {
  const open = async (rule: (typeof HIDING)[number][1]): Promise<MemoryTree> => {
    const memory = await openTree({ storages: [{ mount_path: '/a' }, { mount_path: '/b' }], rules: [rule] });
    for (const path of ['/a/d/e/secret.txt', '/a/d/f', '/a/plain/f']) await memory.put(path);
    return memory;
  };

  it.each(HIDING)('with something in it that %s hides is refused', async (_what, rule) => {
    const memory = await open(rule);
    const before = await memory.everything();
    expect(await refusalOf(act(memory.operation(blind), 'd'))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(before);
    await act(memory.operation(blind), 'plain');
  });

  it('is for whoever sees it', async () => {
    const [[, rule]] = HIDING;
    await act((await open(rule)).operation(actor()), 'd');
    await act((await open(rule)).operation(actor({ role: 2, permission: 0 })), 'd');
  });

  it('is not troubled by a rule that reaches no deeper, or hides elsewhere', async () => {
    for (const rule of [
      { path: '/a', hide: '^secret' },
      { path: '/b/x', hide: '.', h_sub: true },
    ])
      await act((await open(rule as never)).operation(blind), 'd');
  });
});

describe('what is hidden comes into a folder after the look at it', () => {
  const hiding = { path: '/a', hide: '^secret', h_sub: true };

  /** A tree whose storage stores a hidden file at the moment when a folder is about to be moved or copied. */
  const openLate = async (meanwhile = async () => {}, comes = 'secret.txt', rule = hiding) => {
    let comesLate = true;
    const late = lateDriver(async (driver, from) => {
      if (comesLate) await driver.write(mpath(`${from}/e/${comes}`), bytesOf('hidden'), { overwrite: true });
      if (comesLate) await meanwhile();
      comesLate = false;
    });
    const memory = await openTree({ storages: [{ mount_path: '/a', driver: 'Late' }], drivers: [late], rules: [rule] });
    await memory.put('/a/in/d/e/f');
    await memory.makeFolder('/a/out');
    return memory;
  };
  const out = { src_dir: '/a/in', dst_dir: '/a/out', names: ['d'], overwrite: false, skip_existing: false };

  it.each(['move', 'copy'] as const)('a %s to where the same is hidden takes it along, and is not taken back', async (verb) => {
    const memory = await openLate();
    await placeEntries(memory.operation(blind), out, verb, queue);
    const kept = verb === 'move' ? ['/a/in/'] : ['/a/in/d/e/f', '/a/in/d/e/secret.txt'];
    expect(await memory.everything()).toEqual([...kept, '/a/out/d/e/f', '/a/out/d/e/secret.txt']);
  });

  it('a move that is done stays so, however much others look through by then', async () => {
    const others = [PLANS('user 1000'), PLANS('user 1001')];
    const memory = await openLate(async () => {
      for (const other of others) await refusalOf((async () => other.take(Number.MAX_SAFE_INTEGER))());
    }, 'plain.txt');
    for (let number = 0; number < 300; number += 1) await memory.makeFolder(`/a/in/d/${number}`);
    await placeEntries(memory.operation(blind), out, 'move', queue);
    for (const other of others) other.leave();
    expect(await memory.everything()).toContain('/a/out/d/e/plain.txt');
  });

  it.each([
    ['move', 'is there'],
    ['copy', 'is there'],
    ['move', 'has logged out'],
    ['copy', 'has logged out'],
  ] as const)('a %s that takes long has nothing of it, where the rule came meanwhile too, and its caller %s', async (verb, caller) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const memory = await openLate(async () => void vi.advanceTimersByTime(3_000), undefined, { ...hiding, path: '/a/in' });
    const without = await openTree({});
    const { rules } = memory.snapshot;
    const begun = { ...memory.operation(blind), snapshot: { ...memory.snapshot, rules: without.snapshot.rules } };
    const newest = async () => ({ ...begun.snapshot, rules });
    const renewed = async () => {
      if (caller === 'has logged out') throw new AppError('UNAUTHENTICATED', 'token is invalidated');
      return { ...begun, snapshot: await newest() };
    };
    await placeEntries({ ...begun, renewed, newest }, out, verb, queue).catch(() => undefined);
    expect(await memory.everything()).toEqual(['/a/in/d/e/f', '/a/in/d/e/secret.txt', '/a/out/']);
  });

  it.each([
    ['move', 'out of a folder in which names are hidden', '/a/in'],
    ['copy', 'out of a folder in which names are hidden', '/a/in'],
    ['move', 'into one', '/a/out'],
    ['copy', 'into one', '/a/out'],
  ] as const)(
    'a %s %s is no one step, behind which it would be shown until it is found, and what others stored be taken back',
    async (verb, _where, path) => {
      const memory = await openLate(undefined, undefined, { ...hiding, path });
      const queued: string[] = [];
      await placeEntries(memory.operation(blind), out, verb, async (items) => void queued.push(...items.map(({ target }) => target)));
      expect([await memory.everything(), queued]).toEqual([['/a/in/d/e/f', '/a/out/'], ['/a/out/d']]);
    },
  );

  it('a folder that gets another name where the same is hidden takes it along', async () => {
    const memory = await openLate();
    await renameEntry(memory.operation(blind), { path: '/a/in/d', name: 'new', overwrite: false });
    expect(await memory.everything()).toEqual(['/a/in/new/e/f', '/a/in/new/e/secret.txt', '/a/out/']);
  });

  it('it goes along for whoever sees it', async () => {
    const memory = await openLate(undefined, undefined, { ...hiding, path: '/a/in' });
    await placeEntries(memory.operation(actor()), out, 'move', queue);
    expect(await memory.everything()).toEqual(['/a/in/', '/a/out/d/e/f', '/a/out/d/e/secret.txt']);
  });
});

describe('a folder whose new name shows what its old one hides', () => {
  const RENAMES: Readonly<Record<string, (operation: Operation, queue?: QueueItems) => Promise<unknown>>> = {
    rename: (operation, queue) => renameEntry(operation, { path: '/in/x', name: 'pub', overwrite: false }, queue),
    batch_rename: (operation, queue) =>
      batchRename(operation, { src_dir: '/in', rename_objects: [{ src_name: 'x', new_name: 'pub' }] }, queue),
    regex_rename: (operation, queue) => regexRename(operation, { src_dir: '/in', src_name_regex: '^x$', new_name_regex: 'pub' }, queue),
  };
  const open = async (driver: string) => {
    const memory = await openTree({
      storages: [{ driver }],
      drivers: [createTestDriver('Plain', ['rename', 'copy']).definition],
      rules: [
        { path: '/in', hide: '^secret', h_sub: true },
        { path: '/in/pub', readme: 'welcome' },
      ],
    });
    await memory.put('/in/x/f');
    return memory;
  };

  for (const driver of ['Memory', 'Plain'])
    describe(driver, () => {
      it.each(Object.entries(RENAMES))(
        'goes file by file by %s: what others store in it meanwhile would be shown',
        async (_what, rename) => {
          const memory = await open(driver);
          const queued: string[] = [];
          await rename(memory.operation(blind), async (items) => void queued.push(...items.map(({ target }) => target)));
          expect([await memory.everything(), queued]).toEqual([['/in/x/f'], ['/in/pub']]);
          expect(await refusalOf(rename(memory.operation(blind)))).toEqual(DENIED);
          expect(await memory.everything()).toEqual(['/in/x/f']);
        },
      );

      it.each(Object.entries(RENAMES))('gets it at once by %s for whoever sees what is hidden', async (_what, rename) => {
        const memory = await open(driver);
        await rename(memory.operation(actor()), never);
        expect(await memory.everything()).toEqual(['/in/pub/f']);
      });
    });
});

it('what would be hidden where it goes is not put there: it could replace what the caller does not see', async () => {
  const memory = await openTree({
    storages: [{ mount_path: '/a' }, { mount_path: '/b' }],
    rules: [{ path: '/b', hide: '^secret', h_sub: true }],
  });
  await memory.put('/a/d/secret', 'new');
  await memory.put('/b/d/secret', 'old');
  for (const verb of ['move', 'copy'] as const)
    expect(await refusalOf(placeEntries(memory.operation(blind), place(['d'], '/b', true), verb, queue))).toEqual(DENIED);
  expect(await memory.textOf('/b/d/secret')).toBe('old');
});

it('what is replaced is changed, and asks for as much', async () => {
  const memory = await openTree({
    storages: [{ mount_path: '/a' }, { mount_path: '/b' }],
    rules: [{ path: '/b/f', password: 'pw' }],
  });
  await memory.put('/a/f', 'new');
  await memory.put('/b/f', 'old');
  const untrusted = actor({ permission: 0xfffd });
  for (const verb of ['move', 'copy'] as const)
    expect(await refusalOf(placeEntries(memory.operation(untrusted), place(['f'], '/b', true), verb, queue))).toEqual(DENIED);
  expect(await memory.textOf('/b/f')).toBe('old');
});

it('of several folders one is gone through after the other: their listings share one room', async () => {
  const memory = await openTree({ rules: [HIDING[0][1]] });
  const names = Array.from({ length: 16 }, (_, index) => `d${index}`);
  for (const name of names) await memory.put(`/a/${name}/f`);
  await memory.makeFolder('/b');
  const store = locate(memory.snapshot, vpath('/')).mount;
  const driver = await store.driver();
  let [listing, most] = [0, 0];
  const list = driver.list;
  driver.list = async function* (path, options) {
    listing += 1;
    most = Math.max(most, listing);
    await new Promise(setImmediate);
    yield* list(path, options);
    listing -= 1;
  };
  expect(await planPlacement(memory.operation(blind), place(names, '/b'), 'move')).toHaveLength(names.length);
  expect(most).toBe(1);
});

describe.each([
  ['by its turn', 'a'],
  ['as it is placed', 'l'],
])('what was looked at as a file and is a folder %s', (_when, trigger) => {
  /** A tree in which `/in/l` becomes a folder with something hidden in it just as the storage is asked to place another entry, or it. */
  const open = async () => {
    let isFile = true;
    const late = lateDriver(async (driver, from) => {
      if (!isFile || from !== `/in/${trigger}`) return;
      isFile = false;
      await driver.remove(mpath('/in/l'), { recursive: false });
      await driver.write(mpath('/in/l/secret'), bytesOf('secret'), { overwrite: true });
    });
    const memory = await openTree({
      storages: [{ driver: 'Late' }],
      drivers: [late],
      rules: [
        { path: '/in', hide: '^secret$', h_sub: true },
        { path: '/in/pub', readme: 'welcome' },
      ],
    });
    for (const path of ['/in/a', '/in/l']) await memory.put(path);
    await memory.makeFolder('/out');
    return memory;
  };
  const request = { src_dir: '/in', dst_dir: '/out', names: ['a', 'l'], overwrite: false, skip_existing: false };

  it.each([
    ['move', (operation: Operation) => placeEntries(operation, request, 'move', never)],
    ['copy', (operation: Operation) => placeEntries(operation, request, 'copy', never)],
    [
      'batch_rename',
      (operation: Operation) =>
        batchRename(operation, {
          src_dir: '/in',
          rename_objects: [
            { src_name: 'a', new_name: 'b' },
            { src_name: 'l', new_name: 'pub' },
          ],
        }),
    ],
  ])('is no part of a %s, for nobody has looked through it', async (_what, change) => {
    const memory = await open();
    await expect(change(memory.operation(blind))).rejects.toMatchObject({ code: trigger === 'a' ? 'OVERLOADED' : 'PERMISSION_DENIED' });
    const everything = await memory.everything();
    expect(everything).toContain('/in/l/secret');
    expect(everything.filter((path) => path.includes('secret'))).toEqual(['/in/l/secret']);
  });
});

const CRYPT = { filename_encryption: 'off', directory_name_encryption: 'false', filename_encoding: 'base64', encrypted_suffix: '.bin' };

it.each<[string, object, readonly string[]]>([
  ['Alias', { paths: 'x:/one\nx:/two', write_conflict_policy: 'all' }, ['/one/d/x', '/two/d/x/secret.txt']],
  ['Crypt', { ...CRYPT, remote_path: '/one', password: 'a password', show_hidden: true }, ['/a/d/x', '/one/d/x/secret.txt.bin']],
])('C16: a folder with something hidden behind a file that alone is shown is not removed: %s', async (driver, addition, paths) => {
  const memory = await openTree({
    storages: [{ mount_path: '/one' }, { mount_path: '/two' }, { mount_path: '/a', driver, addition: JSON.stringify(addition) }],
    drivers: [aliasDriver, cryptDriver],
    rules: [{ path: '/a', hide: '^secret', h_sub: true }],
  });
  for (const path of paths) await memory.put(path);
  const remove = (who = blind) => removeEntries(memory.operation(who), { dir: '/a', names: ['d'] });
  expect(await refusalOf(remove())).toEqual(DENIED);
  expect(await memory.textOf(paths[1] ?? '')).toBe(paths[1]);
  await remove(actor());
  expect(await memory.everything('/one')).toEqual([]);
});

it('a deep folder that several folders of an Alias have is looked through once', async () => {
  const paths = [1, 2, 3].map((line) => `x:/m/${line}`).join('\n');
  const memory = await openTree({
    storages: [
      { mount_path: '/m' },
      { mount_path: '/a', driver: 'Alias', addition: JSON.stringify({ paths, write_conflict_policy: 'all' }) },
    ],
    drivers: [aliasDriver],
    rules: [{ path: '/a', hide: '^secret', h_sub: true }],
  });
  const deep = Array.from({ length: 12 }, () => 'd').join('/');
  for (const line of [1, 2, 3]) await memory.put(`/m/${line}/${deep}/file`);
  await removeEntries(memory.operation(blind), { dir: '/a', names: ['d'] });
  expect(await memory.everything('/m')).toEqual(['/m/1/', '/m/2/', '/m/3/']);
});
