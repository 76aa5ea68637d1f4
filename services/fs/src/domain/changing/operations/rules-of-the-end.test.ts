import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { expect, it, onTestFinished, vi } from 'vitest';
import { decorated, operationsOf } from '../../../driver-contract/complete-driver.ts';
import type { DriverDefinition } from '../../../driver-contract/define-driver.ts';
import type { StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../../../drivers/memory/index.ts';
import { locate } from '../../snapshot/snapshot.ts';
import { actor, bytesOf, mpath, openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED } from '../../testing/three-storages.ts';
import { copyFile, type TargetDriver } from '../copy-file.ts';
import { batchRename } from './batch-rename.ts';
import type { Operation } from './operation.ts';
import { placeEntries } from './place-entries.ts';
import { renameEntry } from './rename-entry.ts';

/** A second more than rights are believed. */
const SLOW_MS = 3_000;
/** Neither sees what is hidden nor passes by passwords. */
const ann = actor({ permission: 0xfffc });
const never = () => Promise.reject(new Error('not to be queued'));
const place = (overwrite = false) => ({ src_dir: '/in', dst_dir: '/out', names: ['d', 'f'], overwrite, skip_existing: false });

/** What a storage does in one step. */
const CHANGES: Readonly<Record<string, (now: Operation) => Promise<unknown>>> = {
  move: (now) => placeEntries(now, place(), 'move', never),
  copy: (now) => placeEntries(now, place(), 'copy', never),
  'move that replaces': (now) => placeEntries(now, place(true), 'move', never),
  'copy that replaces': (now) => placeEntries(now, place(true), 'copy', never),
  rename: (now) => renameEntry(now, { path: '/in/d', name: 'new', overwrite: false }),
  'rename that replaces': (now) => renameEntry(now, { path: '/in/d', name: 'new', overwrite: true }),
  'batch rename': (now) =>
    batchRename(now, {
      src_dir: '/in',
      rename_objects: [
        { src_name: 'd', new_name: 'new' },
        { src_name: 'f', new_name: 'newf' },
      ],
    }),
};

const SOURCE_RULES: Readonly<Record<string, Partial<RuleRecord>>> = {
  'has a password in it': { path: '/in/d/secret', password: 'x', p_sub: true },
  'has a password': { path: '/in/d', password: 'x', p_sub: true },
  'is in a folder with a password': { path: '/in', password: 'x', p_sub: true },
  'has something for others in it': { path: '/in/d/secret', read_users: [99], read_users_sub: true },
  'is for others': { path: '/in/d', read_users: [99], read_users_sub: true },
  'is in a folder for others': { path: '/in', read_users: [99], read_users_sub: true },
};

/** A tree whose storage takes long for a step, and is given a secret meanwhile. */
async function openLate(more: { renames?: false } = {}) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let isFirst = true;
  const late: DriverDefinition = {
    ...memoryDriver,
    name: 'Late',
    async open(addition, context) {
      const driver = (await memoryDriver.open(addition, context)) as Required<StorageDriver>;
      const slow =
        (act: Required<StorageDriver>['rename']): Required<StorageDriver>['rename'] =>
        async (from, to, options) => {
          if (isFirst) {
            isFirst = false;
            if (options.isTree) await driver.write(mpath(`${from}/secret/s`), bytesOf('secret'), { overwrite: true });
            else await driver.write(from, bytesOf('secret'), { overwrite: true });
            vi.advanceTimersByTime(SLOW_MS);
          }
          return act(from, to, options);
        };
      const operations = operationsOf(driver);
      return decorated({
        ...operations,
        rename: more.renames === false ? undefined : slow(driver.rename.bind(driver)),
        copy: slow(driver.copy.bind(driver)),
      });
    },
  };
  const memory = await openTree({ storages: [{ driver: 'Late' }], drivers: [late] });
  await memory.put('/in/d/a');
  await memory.put('/in/f', 'before');
  await memory.makeFolder('/out');
  const begun = memory.operation(ann);
  const under = async (rules: readonly Partial<RuleRecord>[], who = begun.actor): Promise<Operation> => {
    const { snapshot } = await openTree({ rules });
    return { ...begun, actor: who, snapshot: { ...begun.snapshot, rules: snapshot.rules } };
  };
  return { ...memory, begun, under };
}

const KEPT = ['/in/d/a', '/in/d/secret/s', '/in/f', '/out/'];

for (const [what, change] of Object.entries(CHANGES)) {
  it.each(Object.entries(SOURCE_RULES))(
    `a folder keeps its place in a ${what} that takes long, where it %s by its end`,
    async (_how, rule) => {
      const memory = await openLate();
      const now = await memory.under([rule]);
      const [code] = await refusalOf(change({ ...memory.begun, renewed: async () => now }));
      expect(code).toBe('PERMISSION_DENIED');
      expect(await memory.everything()).toEqual(KEPT);
      expect(memory.published).toContain(what.includes('rename') ? '/in/new' : '/out/d');
    },
  );

  it(`so does the folder of who has logged out meanwhile, in a ${what}`, async () => {
    const memory = await openLate();
    const { snapshot } = await memory.under([SOURCE_RULES['has a password in it'] ?? {}]);
    const renewed = () => Promise.reject(new AppError('UNAUTHENTICATED', 'token is invalidated'));
    expect(await refusalOf(change({ ...memory.begun, renewed, newest: async () => snapshot }))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(KEPT);
  });

  it(`and of who has another root by then, in a ${what}`, async () => {
    const memory = await openLate();
    const now = await memory.under([], { ...ann, basePath: vpath('/out') });
    expect(await refusalOf(change({ ...memory.begun, renewed: async () => now }))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(KEPT);
  });

  it(`a ${what} that takes long is made where a rule guards something else by its end`, async () => {
    const memory = await openLate();
    const now = await memory.under([{ path: '/other', password: 'x', p_sub: true }]);
    await change({ ...memory.begun, renewed: async () => now });
    expect(await memory.everything()).toContain(what.includes('rename') ? '/in/new/secret/s' : '/out/d/secret/s');
  });
}

it.each(['move', 'copy'] as const)('what a %s brings late does not stay in a folder that is closed meanwhile', async (what) => {
  for (const rule of [
    { path: '/out', write_users: [99], write_users_sub: true },
    { path: '/out/d', read_users: [99], read_users_sub: true },
  ]) {
    const memory = await openLate();
    const now = await memory.under([rule]);
    expect(await refusalOf(placeEntries({ ...memory.begun, renewed: async () => now }, place(), what, never))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(KEPT);
  }
});

it('what is hidden late, and is shown by its new name, does not go along with a rename', async () => {
  const memory = await openLate();
  const now = await memory.under([
    { path: '/in', hide: '^secret$', h_sub: true },
    { path: '/in/new', readme: 'welcome' },
  ]);
  const rename = CHANGES['rename'] ?? never;
  expect(await refusalOf(rename({ ...memory.begun, renewed: async () => now }))).toEqual(DENIED);
  expect(await memory.everything()).toEqual(KEPT);
});

it('the admin is told which rule keeps an entry where it was', async () => {
  const memory = await openLate();
  const now = await memory.under([{ path: '/in/d/secret', password: 'x' }], actor({ role: 2 }));
  const [code, message] = await refusalOf(placeEntries({ ...memory.begun, renewed: async () => now }, place(), 'move', never));
  expect([code, message]).toEqual(['FAILED_PRECONDITION', expect.stringContaining('/in/d/secret')]);
  expect(await memory.everything()).toEqual(KEPT);
});

it.each(['move', 'copy'] as const)(
  'of a file that a %s replaces late nothing is left, and what was to replace it is where it was',
  async (what) => {
    const memory = await openLate();
    await memory.put('/out/f', 'replaced');
    const now = await memory.under([{ path: '/in/f', password: 'x' }]);
    const request = { ...place(true), names: ['f'] };
    expect(await refusalOf(placeEntries({ ...memory.begun, renewed: async () => now }, request, what, never))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(['/in/d/a', '/in/f', '/out/']);
    expect(await memory.textOf('/in/f')).toBe('secret');
  },
);

it('what somebody else has stored by the name of what moved is not taken back with it', async () => {
  const memory = await openLate();
  const now = await memory.under([{ path: '/in/f', password: 'x' }]);
  const renewed = async () => {
    await memory.put('/out/f', 'of somebody else');
    return now;
  };
  const request = { ...place(), names: ['f'] };
  expect(await refusalOf(placeEntries({ ...memory.begun, renewed }, request, 'move', never))).toEqual(DENIED);
  expect([await memory.textOf('/out/f'), await memory.everything('/in')]).toEqual(['of somebody else', ['/in/d/a']]);
});

it('what somebody else has stored in a copied folder stays where the copy is taken back', async () => {
  const memory = await openLate();
  await memory.put('/in/d/b/c');
  const now = await memory.under([SOURCE_RULES['is for others'] ?? {}]);
  const renewed = async () => {
    await memory.put('/out/d/a', 'edited to something longer');
    await memory.put('/out/d/secret/new', 'new');
    return now;
  };
  const request = { ...place(), names: ['d'] };
  expect(await refusalOf(placeEntries({ ...memory.begun, renewed }, request, 'copy', never))).toEqual(DENIED);
  expect(await memory.everything('/out')).toEqual(['/out/d/a', '/out/d/secret/new']);
  expect(await memory.textOf('/out/d/a')).toBe('edited to something longer');
});

it.each([
  [
    'whose source has another name by then',
    async (memory: Awaited<ReturnType<typeof openLate>>): Promise<string> => {
      const driver = (await locate(memory.snapshot, vpath('/')).mount.driver()) as Required<StorageDriver>;
      await driver.rename(mpath('/in/d'), mpath('/in/other'), { overwrite: false });
      await memory.put('/out/d/a', 'edited to something longer');
      return 'edited to something longer';
    },
  ],
  [
    'as long as what it replaces',
    async (memory: Awaited<ReturnType<typeof openLate>>): Promise<string> => {
      const edited = (await memory.textOf('/out/d/a')).replace(/./g, 'x');
      await memory.put('/out/d/a', edited);
      return edited;
    },
  ],
] as const)('so does a file %s', async (_what, edit) => {
  const memory = await openLate();
  const now = await memory.under([SOURCE_RULES['is for others'] ?? {}]);
  let edited: string | undefined;
  const renewed = async () => {
    edited ??= await edit(memory);
    return now;
  };
  expect(await refusalOf(placeEntries({ ...memory.begun, renewed }, { ...place(), names: ['d'] }, 'copy', never))).toEqual(DENIED);
  expect(await memory.textOf('/out/d/a')).toBe(edited);
});

it('a copied folder of which the files have dates of their own is taken back as any other', async () => {
  const memory = await openLate();
  const now = await memory.under([SOURCE_RULES['is for others'] ?? {}]);
  const renewed = async () => {
    const driver = (await locate(memory.snapshot, vpath('/')).mount.driver()) as Required<StorageDriver>;
    for (const path of ['a', 'secret/s'])
      await driver.write(mpath(`/out/d/${path}`), bytesOf(await memory.textOf(`/in/d/${path}`)), {
        overwrite: true,
        modifiedAt: new Date(0),
      });
    return now;
  };
  expect(await refusalOf(placeEntries({ ...memory.begun, renewed }, { ...place(), names: ['d'] }, 'copy', never))).toEqual(DENIED);
  expect(await memory.everything()).toEqual(KEPT);
});

it('a file that a storage copies for its new name has none where it has a password by then', async () => {
  const memory = await openLate({ renames: false });
  const now = await memory.under([{ path: '/in/f', password: 'x' }]);
  const rename = renameEntry({ ...memory.begun, renewed: async () => now }, { path: '/in/f', name: 'new', overwrite: false });
  expect(await refusalOf(rename)).toEqual(DENIED);
  expect(await memory.everything()).toEqual(['/in/d/a', '/in/f', '/out/']);
});

it('a file that a storage copied for long stays where nobody can say whether it may', async () => {
  const memory = await openLate();
  const driver = (await locate(memory.snapshot, vpath('/')).mount.driver()) as TargetDriver;
  const afterWaiting = () => Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'the store is away'));
  const { signal } = memory.begun;
  await copyFile({ from: { driver, path: mpath('/in/f') }, to: { driver, path: mpath('/out/f') }, overwrite: false, signal, afterWaiting });
  expect(await memory.everything('/out')).toEqual(['/out/f']);
});

it('a step that is quick asks for nothing behind it', async () => {
  const memory = await openLate();
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const renewed = vi.fn(() => Promise.reject(new AppError('UNAUTHENTICATED', 'token is invalidated')));
  await placeEntries({ ...memory.begun, renewed }, place(), 'move', never);
  expect(renewed).not.toHaveBeenCalled();
});
