import { describe, expect, it } from 'vitest';
import { bytesOf, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { aliasDriver } from '../drivers/alias/index.ts';
import type { PlacementInput, Verb } from './placement.ts';
import { runPlacement } from './testing/place-now.ts';
import { createTestRun } from './testing/test-run.ts';

const OF_SOURCES = new Date(1_000_000);
const SAVED = ['ENTRY_EXISTS', expect.stringContaining('file [a] was saved by somebody since it was to be replaced: it stays')];

/** A folder `/from/d` with files of a few bytes that goes to `/to/d`, by attempts of one task. */
async function openPlacement(verb: Verb, conflict: PlacementInput['conflict'], names: readonly string[]) {
  const [from, to] = [createTestDriver('From'), createTestDriver('To')];
  const tree = await openTree({
    drivers: [from.definition, to.definition],
    storages: [
      { mount_path: '/from', driver: 'From' },
      { mount_path: '/to', driver: 'To' },
    ],
  });
  const target = to.storeOf();
  const put = (store: typeof target, name: string, text: string, modifiedAt: Date) =>
    store.write(mpath(`/d/${name}`), bytesOf(text), { overwrite: true, modifiedAt });
  for (const name of names) await put(from.storeOf(), name, 'new', OF_SOURCES);
  const run = createTestRun({ signal: new AbortController().signal });
  const isFile = names.length === 1;
  const [source, at] = isFile ? [`/from/d/${names[0]}`, `/to/d/${names[0]}`] : ['/from/d', '/to/d'];
  const input: PlacementInput = { source, target: at, sourceStorage: 1, targetStorage: 2, conflict };
  return {
    ...{ tree, from, to, target, run },
    attempt: () => runPlacement(tree.operation(), verb, input, run),
    save: (name: string, text: string, modifiedAt = new Date(2_000_000)) => put(target, name, text, modifiedAt),
    /** The worker is lost right when this file has been stored: nothing says so. */
    loseAfter(name: string) {
      let isStored = false;
      to.delayAnswers(async () => {
        const { sizeBytes } = await target.stat(mpath(`/d/${name}`)).catch(() => ({ sizeBytes: 0 }));
        if (sizeBytes === 3 && !isStored) run.lose();
        isStored ||= sizeBytes === 3;
      });
    },
  };
}

const textsOf = async ({ tree }: Awaited<ReturnType<typeof openPlacement>>, verb: Verb, name = 'a') => [
  await tree.textOf(`/to/d/${name}`),
  verb === 'move' ? await tree.textOf(`/from/d/${name}`).catch(() => 'gone') : 'new',
];

describe.each(['copy', 'move'] as const)('a %s that replaces and is done again after its worker was lost', (verb) => {
  it.each([
    ['a file, where another one was', ['a'], 'older'],
    ['a file, where none was', ['a'], undefined],
    ['a folder, where another file was', ['a', 'b', 'c'], 'older'],
    ['a folder, where none was', ['a', 'b', 'c'], undefined],
  ])('leaves what somebody saved there in between: %s', async (_what, names, before) => {
    const placement = await openPlacement(verb, 'replace', names);
    if (before !== undefined) await placement.save('a', before);
    placement.loseAfter('a');
    await placement.attempt().catch(() => undefined);
    await placement.save('a', 'edited');
    for (let retry = 0; retry < 2; retry += 1) {
      expect(await refusalOf(placement.attempt())).toEqual(SAVED);
      expect(await textsOf(placement, verb)).toEqual(['edited', 'new']);
    }
  });

  it('finds its own bytes, whatever their date has become', async () => {
    const placement = await openPlacement(verb, 'replace', ['a', 'b']);
    await placement.save('a', 'older');
    placement.loseAfter('a');
    await placement.attempt().catch(() => undefined);
    await placement.save('a', 'new');
    const outcome = await placement.attempt().catch((error: Error) => error.message);
    // A move does not remove a source whose copy has another date.
    expect(outcome).toEqual(verb === 'copy' ? undefined : expect.stringContaining('it stays in both places: a'));
    expect(await textsOf(placement, verb)).toEqual(['new', 'new']);
  });

  it('comes to its end where nobody did', async () => {
    const placement = await openPlacement(verb, 'replace', ['a', 'b', 'c']);
    for (const name of ['a', 'b', 'c']) await placement.save(name, 'older');
    placement.loseAfter('b');
    await placement.attempt().catch(() => undefined);
    await placement.attempt();
    for (const name of ['a', 'b', 'c']) expect((await textsOf(placement, verb, name))[0]).toBe('new');
  });
});

it('what the copy of a single file is to replace is noted in the one checkpoint that there is before it is stored', async () => {
  const placement = await openPlacement('copy', 'replace', ['a']);
  await placement.save('a', 'older');
  let noted = 0;
  placement.to.beforeCalls(async () => {
    noted = placement.run.checkpoints();
  });
  await placement.attempt();
  expect([noted, await placement.tree.textOf('/to/d/a')]).toEqual([1, 'new']);
});

it('of several places of one file all have the new one, where the first attempt failed at the second', async () => {
  const [from, one, two] = [createTestDriver('From'), createTestDriver('One'), createTestDriver('Two')];
  const tree = await openTree({
    drivers: [aliasDriver, from.definition, one.definition, two.definition],
    storages: [
      { mount_path: '/from', driver: 'From' },
      { mount_path: '/one', driver: 'One' },
      { mount_path: '/two', driver: 'Two' },
      {
        mount_path: '/both',
        driver: 'Alias',
        addition: JSON.stringify({ paths: 'x:/one\nx:/two', put_conflict_policy: 'all', write_conflict_policy: 'all' }),
      },
    ],
  });
  await from.storeOf().write(mpath('/a'), bytesOf('new'), { overwrite: true, modifiedAt: OF_SOURCES });
  for (const each of [one, two]) await each.storeOf().write(mpath('/a'), bytesOf('older'), { overwrite: true, modifiedAt: OF_SOURCES });
  let isAway = true;
  two.failWrites((path) => isAway && path === '/a');
  const run = createTestRun({ signal: new AbortController().signal });
  const attempt = () =>
    runPlacement(
      tree.operation(),
      'move',
      { source: '/from/a', target: '/both/a', sourceStorage: 1, targetStorage: 4, conflict: 'replace' },
      run,
    );
  expect((await refusalOf(attempt()))[0]).toBe('QUOTA_EXCEEDED');
  isAway = false;
  await attempt();
  expect([await tree.textOf('/one/a'), await tree.textOf('/two/a')]).toEqual(['new', 'new']);
});

it.each(
  (['replace', 'refuse', 'keep'] as const).flatMap((conflict) => [
    ['keeps dates', conflict, { modTimeStepMs: 1 }] as const,
    ['keeps none', conflict, { modTimeStepMs: undefined }] as const,
  ]),
)(
  'a move that is tried again as its source changed takes that along, to a storage that %s: %s',
  async (_what, conflict, { modTimeStepMs }) => {
    const placement = await openPlacement('move', conflict, ['a', 'b']);
    Object.assign(placement.target.traits, { modTimeStepMs });
    if (conflict === 'replace') await placement.save('a', 'older');
    const { run, target, from } = placement;
    let isEdited = false;
    run.onCheckpoint(async () => {
      const isCopied = await target.stat(mpath('/d/b')).then(
        () => true,
        () => false,
      );
      if (isCopied && !isEdited)
        await from.storeOf().write(mpath('/d/a'), bytesOf('edited'), { overwrite: true, modifiedAt: new Date(3_000_000) });
      isEdited ||= isCopied;
    });
    expect((await refusalOf(placement.attempt()))[0]).toBe('CONTENT_CORRUPT');
    await placement.attempt();
    expect(await textsOf(placement, 'move')).toEqual(['edited', 'gone']);
  },
);

it.each([
  ['replace', SAVED],
  ['refuse', ['ENTRY_EXISTS', expect.stringContaining('file [a] exists')]],
] as const)('a move that is tried again after its copy was changed leaves both: %s', async (conflict, refusal) => {
  const placement = await openPlacement('move', conflict, ['a', 'b']);
  if (conflict === 'refuse') Object.assign(placement.target.traits, { modTimeStepMs: undefined });
  const { run, target, save } = placement;
  let isEdited = false;
  run.onCheckpoint(async () => {
    const isCopied = await target.stat(mpath('/d/b')).then(
      () => true,
      () => false,
    );
    if (isCopied && !isEdited) await save('a', 'edited');
    isEdited ||= isCopied;
  });
  expect((await refusalOf(placement.attempt()))[0]).toBe('CONTENT_CORRUPT');
  expect(await refusalOf(placement.attempt())).toEqual(refusal);
  expect(await textsOf(placement, 'move')).toEqual(['edited', 'new']);
});

it.each([
  ['refuse', 'new'],
  ['keep', 'gone'],
] as const)(
  'what somebody else stored with the size and the date of a source is not taken for its copy, however often a move is tried: %s',
  async (conflict, other) => {
    const placement = await openPlacement('move', conflict, ['a', 'b']);
    await placement.save('a', 'bad', OF_SOURCES);
    placement.run.onCheckpoint(() => {
      if (placement.run.checkpoints() === 2) placement.run.lose();
    });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await placement.attempt().catch(() => undefined);
      expect(await textsOf(placement, 'move')).toEqual(['bad', 'new']);
    }
    expect(await textsOf(placement, 'move', 'b')).toEqual(['new', other]);
  },
);

it.each([
  ['copy', 'refuse'],
  ['copy', 'keep'],
  ['copy', 'replace'],
  ['move', 'refuse'],
  ['move', 'keep'],
  ['move', 'replace'],
] as const)('nor for one of what a source was before it changed: a %s, %s', async (verb, conflict) => {
  const placement = await openPlacement(verb, conflict, ['a', 'b']);
  const { run, save, from } = placement;
  if (conflict !== 'replace') await save('a', 'bad', OF_SOURCES);
  run.onCheckpoint(() => {
    if (run.checkpoints() === 2) run.lose();
  });
  await placement.attempt().catch(() => undefined);
  if (conflict === 'replace') await save('a', 'bad', OF_SOURCES);
  await from.storeOf().write(mpath('/d/a'), bytesOf('edited'), { overwrite: true, modifiedAt: new Date(3_000_000) });
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await placement.attempt().catch(() => undefined);
    expect([await placement.tree.textOf('/to/d/a'), await placement.tree.textOf('/from/d/a')]).toEqual(['bad', 'edited']);
  }
});
