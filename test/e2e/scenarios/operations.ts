import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Api } from '@wharf/harness';
import { beforeAll, describe, expect, test } from 'vitest';
import { put } from '../support/files.ts';
import { ALL_WRITES, makePerson, PERMISSION, type Person, withGuest } from '../support/people.ts';
import type { World } from '../support/world.ts';

const DONE = { code: 200, message: 'success', data: null };
const failed = (code: number, message: string) => ({ code, message, data: null });
const CLIMBS = failed(403, 'using relative path is not allowed');
const DENIED = failed(403, 'permission denied');

/** One call in a folder of its own: what is there before (files hold their first path), the call, its answer, what is there afterwards. */
interface Row {
  readonly before: readonly string[];
  readonly route: string;
  /** `at` makes a path of the caller's tree. */
  readonly body: (at: (path: string) => string) => Record<string, unknown>;
  readonly answer: Record<string, unknown>;
  /** Folders end in `/`; `a<b` is a file at `a` that was at `b`. */
  readonly after: readonly string[];
}

const row = (before: string[], route: string, body: Row['body'], answer: Row['answer'], after = before): Row => ({
  before,
  route,
  body,
  answer,
  after,
});
const pairs = (...given: [string, string][]) => given.map(([src_name, new_name]) => ({ src_name, new_name }));

/** What operations answer, case by case (docs/api-family.md#operations). */
const ROWS: Readonly<Record<string, Row>> = {
  'mkdir makes what is missing above it': row([], 'mkdir', (at) => ({ path: at('a/b/c') }), DONE, ['a/b/c/']),
  'mkdir of a folder that is there': row(['a/f'], 'mkdir', (at) => ({ path: at('a') }), DONE),
  'mkdir where a file is': row(['a'], 'mkdir', (at) => ({ path: at('a') }), failed(500, 'file exists')),
  'rename of a file': row(['f', 'g'], 'rename', (at) => ({ path: at('f'), name: 'h' }), DONE, ['g', 'h<f']),
  'rename of a folder': row(['d/e/f'], 'rename', (at) => ({ path: at('d'), name: 'x' }), DONE, ['x/e/f<d/e/f']),
  'rename to the name it has': row(['f'], 'rename', (at) => ({ path: at('f'), name: 'f' }), DONE),
  'rename to a taken name': row(['f', 'g'], 'rename', (at) => ({ path: at('f'), name: 'g' }), failed(403, 'file [g] exists')),
  'rename over a file': row(['f', 'g'], 'rename', (at) => ({ path: at('f'), name: 'g', overwrite: true }), DONE, ['g<f']),
  'rename to what is no name': row(['f'], 'rename', (at) => ({ path: at('f'), name: 'a/b' }), CLIMBS),
  'rename of nothing': row([], 'rename', (at) => ({ path: at('f'), name: 'g' }), failed(500, 'object not found')),
  batch_rename: row(
    ['a', 'b', 'c'],
    'batch_rename',
    (at) => ({ src_dir: at(''), rename_objects: pairs(['a', 'x'], ['', 'y'], ['b', ''], ['c', 'c']) }),
    DONE,
    ['b', 'c', 'x<a'],
  ),
  'batch_rename in a circle': row(
    ['a', 'b', 'c'],
    'batch_rename',
    (at) => ({ src_dir: at(''), rename_objects: pairs(['a', 'b'], ['b', 'c'], ['c', 'a']) }),
    DONE,
    ['a<c', 'b<a', 'c<b'],
  ),
  'batch_rename to a taken name': row(
    ['a', 'b', 'c'],
    'batch_rename',
    (at) => ({ src_dir: at(''), rename_objects: pairs(['a', 'x'], ['b', 'c']) }),
    failed(403, 'file [c] exists'),
  ),
  'batch_rename of nothing': row(
    ['a'],
    'batch_rename',
    (at) => ({ src_dir: at(''), rename_objects: pairs(['a', 'x'], ['b', 'c']) }),
    failed(500, 'object not found'),
  ),
  'batch_rename of what is no name': row(['a'], 'batch_rename', (at) => ({ src_dir: at(''), rename_objects: pairs(['a', '..']) }), CLIMBS),
  'batch_rename from what is no name': row(
    ['d/a'],
    'batch_rename',
    (at) => ({ src_dir: at(''), rename_objects: pairs(['d/a', 'x']) }),
    CLIMBS,
  ),
  regex_rename: row(
    ['IMG_1.jpg', 'IMG_2.jpg', 'd/IMG_3.jpg', 'other'],
    'regex_rename',
    (at) => ({ src_dir: at(''), src_name_regex: 'IMG_(?P<n>\\d)', new_name_regex: 'photo-$n' }),
    DONE,
    ['d/IMG_3.jpg', 'other', 'photo-1.jpg<IMG_1.jpg', 'photo-2.jpg<IMG_2.jpg'],
  ),
  'regex_rename replaces every match, and takes $1x for a group of that name': row(
    ['aa', 'b'],
    'regex_rename',
    (at) => ({ src_dir: at(''), src_name_regex: '(a)', new_name_regex: '$1x-' }),
    DONE,
    ['--<aa', 'b'],
  ),
  'regex_rename by no pattern': row(
    ['a'],
    'regex_rename',
    (at) => ({ src_dir: at(''), src_name_regex: '(a', new_name_regex: 'x' }),
    failed(500, 'error parsing regexp: missing closing ): `(a`'),
  ),
  'regex_rename to one name': row(
    ['a', 'b'],
    'regex_rename',
    (at) => ({ src_dir: at(''), src_name_regex: '.', new_name_regex: 'x' }),
    failed(403, 'file [x] exists'),
  ),
  move: row(['d/f', 'd/g/h', 'e/i'], 'move', (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['f', 'g'] }), DONE, [
    'd/',
    'e/f<d/f',
    'e/g/h<d/g/h',
    'e/i',
  ]),
  'move to where it is': row(['f'], 'move', (at) => ({ src_dir: at(''), dst_dir: at(''), names: ['f'] }), failed(500, 'move in place')),
  'move to a taken name': row(
    ['d/f', 'd/g', 'e/g'],
    'move',
    (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['f', 'g'] }),
    failed(403, 'file [g] exists'),
  ),
  'move that skips': row(
    ['d/f', 'd/g', 'e/g'],
    'move',
    (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['f', 'g'], skip_existing: true }),
    DONE,
    ['d/g', 'e/f<d/f', 'e/g'],
  ),
  'move over a file': row(['d/g', 'e/g'], 'move', (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['g'], overwrite: true }), DONE, [
    'd/',
    'e/g<d/g',
  ]),
  'move of no names': row(['f'], 'move', (at) => ({ src_dir: at(''), dst_dir: at('e'), names: [] }), failed(400, 'Empty file names')),
  'move of what climbs, and of another': row(
    ['d/f', 'g'],
    'move',
    (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['../g', 'f'] }),
    DONE,
    ['d/', 'e/f<d/f', 'g'],
  ),
  'move into a file': row(
    ['d/f', 'g'],
    'move',
    (at) => ({ src_dir: at('d'), dst_dir: at('g'), names: ['f'] }),
    failed(500, 'not a folder'),
  ),
  copy: row(['d/f'], 'copy', (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['f'] }), DONE, ['d/f', 'e/f<d/f']),
  'copy of a name of two segments': row(['d/f'], 'copy', (at) => ({ src_dir: at(''), dst_dir: at('e'), names: ['d/f'] }), CLIMBS),
  'copy of a folder': row(['d/f/g'], 'copy', (at) => ({ src_dir: at('d'), dst_dir: at('e'), names: ['f'] }), DONE, [
    'd/f/g',
    'e/f/g<d/f/g',
  ]),
  'copy to where it is': row(['f'], 'copy', (at) => ({ src_dir: at(''), dst_dir: at(''), names: ['f'] }), failed(500, 'copy in place')),
  'copy of no names': row(['f'], 'copy', (at) => ({ src_dir: at(''), dst_dir: at('e'), names: [] }), failed(400, 'Empty file names')),
  recursive_move: row(
    ['s/1', 's/d/2', 's/d/e/3', 't/4'],
    'recursive_move',
    (at) => ({ src_dir: at('s'), dst_dir: at('t') }),
    { code: 200, message: 'Successfully moved 3 files', data: null },
    ['s/d/e/', 't/1<s/1', 't/2<s/d/2', 't/3<s/d/e/3', 't/4'],
  ),
  'recursive_move with a clash, by default': row(
    ['s/1', 's/d/2', 't/2'],
    'recursive_move',
    (at) => ({ src_dir: at('s'), dst_dir: at('t') }),
    failed(403, 'file [2] exists'),
  ),
  'recursive_move with a clash of two that move': row(
    ['s/a/1', 's/b/1'],
    'recursive_move',
    (at) => ({ src_dir: at('s'), dst_dir: at('t'), conflict_policy: 'cancel' }),
    failed(403, 'file [1] exists'),
  ),
  'recursive_move that skips': row(
    ['s/1', 's/d/2', 't/2'],
    'recursive_move',
    (at) => ({ src_dir: at('s'), dst_dir: at('t'), conflict_policy: 'skip' }),
    { code: 200, message: 'Successfully moved 1 file', data: null },
    ['s/d/2', 't/1<s/1', 't/2'],
  ),
  'recursive_move that overwrites': row(
    ['s/d/2', 't/2'],
    'recursive_move',
    (at) => ({ src_dir: at('s'), dst_dir: at('t'), conflict_policy: 'overwrite' }),
    { code: 200, message: 'Successfully moved 1 file', data: null },
    ['s/d/', 't/2<s/d/2'],
  ),
  'remove, with one that is not there': row(['d/e/f', 'g', 'h'], 'remove', (at) => ({ dir: at(''), names: ['d', 'none', 'g'] }), DONE, [
    'h',
  ]),
  'remove of no names': row(['f'], 'remove', (at) => ({ dir: at(''), names: [] }), failed(400, 'Empty file names')),
  'remove of what climbs': row(['d/f', 'g'], 'remove', (at) => ({ dir: at('d'), names: ['../g'] }), DONE),
  'remove_if_empty, with one that is not there': row(
    ['d/', 'e/', 'h'],
    'remove_if_empty',
    (at) => ({ dir: at(''), names: ['d', 'none', 'e'] }),
    DONE,
    ['h'],
  ),
  'remove_if_empty of a file': row(
    ['d/', 'f'],
    'remove_if_empty',
    (at) => ({ dir: at(''), names: ['d', 'f'] }),
    failed(500, 'not a folder'),
    ['f'],
  ),
  'remove_if_empty of a folder that is not': row(
    ['d/e/f'],
    'remove_if_empty',
    (at) => ({ dir: at(''), names: ['d'] }),
    failed(500, 'the folder is not empty'),
  ),
  remove_empty_directory: row(['d/1/2/', 'd/3/f', 'd/4/', 'e/'], 'remove_empty_directory', (at) => ({ src_dir: at('d') }), DONE, [
    'd/3/f',
    'e/',
  ]),
  'remove_empty_directory of a folder that is empty itself': row(['d/'], 'remove_empty_directory', (at) => ({ src_dir: at('d') }), DONE),
  other: row(['f'], 'other', (at) => ({ path: at('f'), method: 'x', data: null, password: '' }), failed(500, 'not implement')),
};

/** What each permission lets one do. */
const BITS: readonly (readonly [number, string, (at: (path: string) => string) => Record<string, unknown>])[] = [
  [PERMISSION.write, 'mkdir', (at) => ({ path: at('new') })],
  [PERMISSION.rename, 'rename', (at) => ({ path: at('f'), name: 'g' })],
  [PERMISSION.rename, 'batch_rename', (at) => ({ src_dir: at(''), rename_objects: pairs(['f', 'g']) })],
  [PERMISSION.rename, 'regex_rename', (at) => ({ src_dir: at(''), src_name_regex: 'f', new_name_regex: 'g' })],
  [PERMISSION.move, 'move', (at) => ({ src_dir: at(''), dst_dir: at('d'), names: ['f'] })],
  [PERMISSION.move, 'recursive_move', (at) => ({ src_dir: at(''), dst_dir: at('d') })],
  [PERMISSION.copy, 'copy', (at) => ({ src_dir: at(''), dst_dir: at('d'), names: ['f'] })],
  [PERMISSION.remove, 'remove', (at) => ({ dir: at(''), names: ['f'] })],
  [PERMISSION.remove, 'remove_if_empty', (at) => ({ dir: at(''), names: ['f'] })],
  [PERMISSION.remove, 'remove_empty_directory', (at) => ({ src_dir: at('') })],
];

/** Every operation on files, as the admin, as a user below a base path, and as the guest. */
export function operations(world: World): void {
  /** Each makes a folder of its own and says how it calls paths in it. */
  type Who = 'the admin' | 'a user below a base path' | 'the guest';
  const inFolder = async (who: Who, use: (caller: Api, disk: string, at: (path: string) => string) => Promise<void>) => {
    const { path, disk } = await world.folder('operations');
    const full = (inner: string) => (inner === '' ? path : `${path}/${inner}`);
    if (who === 'the admin') return use(world.admin, disk, full);
    if (who === 'the guest') return withGuest(world, (guest) => use(guest, disk, full), ALL_WRITES);
    const person = await makePerson(world, { base_path: path, permission: ALL_WRITES });
    return use(person, disk, (inner) => `/${inner}`);
  };

  describe.each<Who>(['the admin', 'a user below a base path', 'the guest'])('operations on files, by %s', (who) => {
    // One folder and one caller for all rows: people take half a second to make.
    test('give the answers of the family, and the tree that they say', async () => {
      await inFolder(who, async (caller, disk, at) => {
        let number = 0;
        for (const [title, { before, route, body, answer, after }] of Object.entries(ROWS)) {
          number += 1;
          const [folder, inner] = [join(disk, `${number}`), (path: string) => at(path === '' ? `${number}` : `${number}/${path}`)];
          await mkdir(folder);
          for (const file of before) await make(folder, file);
          expect(await caller.post(`/api/fs/${route}`, body(inner)), title).toMatchObject(answer);
          expect(await treeOf(folder), title).toEqual(after.map((line) => (/[</]$|</.test(line) ? line : `${line}<${line}`)).toSorted());
        }
      });
    });
  });

  describe('C16: a permission that is missing', () => {
    let folder: { path: string; disk: string };
    const without = new Map<number, Person>();
    beforeAll(async () => {
      folder = await world.folder('bits');
      await make(folder.disk, 'f');
      await make(folder.disk, 'd/e/');
      for (const [bit] of BITS)
        if (!without.has(bit)) without.set(bit, await makePerson(world, { base_path: folder.path, permission: ALL_WRITES & ~bit }));
    });

    test.each(BITS)('bit %i is missed by %s', async (bit, route, body) => {
      const person = without.get(bit);
      expect(
        await person?.post(
          `/api/fs/${route}`,
          body((path) => `/${path}`),
        ),
      ).toMatchObject(DENIED);
      expect(await treeOf(folder.disk)).toEqual(['d/e/', 'f<f']);
    });

    test('bit 8 is missed by uploads too', async () => {
      const person = without.get(PERMISSION.write);
      if (!person) throw new Error('nobody lacks the permission');
      expect(await put(person, world.base, '/new', 'x')).toMatchObject(DENIED);
      expect(await put(person, world.base, '/f', 'x')).toMatchObject(DENIED);
      expect(await treeOf(folder.disk)).toEqual(['d/e/', 'f<f']);
    });

    test('a guest without any is refused everything', async () => {
      await withGuest(world, async (guest) => {
        for (const [, route, body] of BITS)
          expect(
            await guest.post(
              `/api/fs/${route}`,
              body((path) => `${folder.path}/${path}`),
            ),
            route,
          ).toMatchObject(DENIED);
      });
      expect(await treeOf(folder.disk)).toEqual(['d/e/', 'f<f']);
    });
  });

  test('what is sent again under its key is done once, and answered as the first time', async () => {
    const { disk, path } = await world.folder('sent-again');
    const key = { 'Idempotency-Key': `"${randomUUID()}"` };
    const change = (route: string, body: object) => world.admin.post(`/api/fs/${route}`, body, key);
    await writeFile(join(disk, 'f'), 'first');
    const remove = { dir: path, names: ['f'] };
    expect(await change('remove', remove)).toMatchObject(DONE);
    await writeFile(join(disk, 'f'), 'second');
    expect(await change('remove', remove)).toMatchObject(DONE);
    expect(await readFile(join(disk, 'f'), 'utf8')).toBe('second');
    const upload = { 'Idempotency-Key': randomUUID() };
    const stored = await put(world.admin, world.base, `${path}/g`, 'sent', upload);
    await writeFile(join(disk, 'g'), 'saved since');
    expect(await put(world.admin, world.base, `${path}/g`, 'sent', upload)).toEqual(stored);
    expect(await readFile(join(disk, 'g'), 'utf8')).toBe('saved since');
    expect(await put(world.admin, world.base, `${path}/g`, 'anew', { 'Idempotency-Key': randomUUID() })).toMatchObject({ code: 200 });
    expect(await readFile(join(disk, 'g'), 'utf8')).toBe('anew');
  });

  test('C23: a refusal speaks of the path that was asked for, not of disks, systems or code', async () => {
    const { path, disk } = await world.folder('refusals');
    await make(disk, 'f');
    await make(disk, 'd/g');
    await symlink('loop', join(disk, 'loop'));
    await symlink(join(disk, '..', '..', 'none'), join(disk, 'dangling'));
    const person = await makePerson(world, { base_path: path, permission: ALL_WRITES });
    const long = 'n'.repeat(255);
    const bodies: readonly (readonly [string, Record<string, unknown>])[] = [
      'f/x',
      'loop/x',
      'dangling/x',
      'none',
      `${long}/${long}`,
      'loop',
      'dangling',
    ].flatMap((inner) => [
      ['list', { path: `/${inner}` }],
      ['get', { path: `/${inner}` }],
      ['dirs', { path: `/${inner}` }],
      ['mkdir', { path: `/${inner}` }],
      ['rename', { path: `/${inner}`, name: 'd', overwrite: true }],
      ['batch_rename', { src_dir: `/${inner}`, rename_objects: pairs(['x', 'y']) }],
      ['regex_rename', { src_dir: `/${inner}`, src_name_regex: 'x', new_name_regex: 'y' }],
      ['move', { src_dir: '/', dst_dir: `/${inner}`, names: ['d'] }],
      ['copy', { src_dir: '/', dst_dir: `/${inner}`, names: ['d'] }],
      ['recursive_move', { src_dir: `/${inner}`, dst_dir: '/d' }],
      ['remove_empty_directory', { src_dir: `/${inner}` }],
      ['other', { path: `/${inner}`, method: 'x', data: {}, password: '' }],
    ]);
    for (const caller of [person, world.admin])
      for (const [route, body] of bodies) {
        const { message } = await caller.post(`/api/fs/${route}`, body);
        expect(message, `${route} ${JSON.stringify(body).slice(0, 100)}`).not.toMatch(
          /E[A-Z]{4,}|\.ts\b|node:|\/proc\/|internal error|undefined|\[object|Error:/,
        );
        expect(message.includes(disk) || message.includes(world.outside), `${route}: ${message}`).toBe(false);
      }
    for (const target of ['/f/x', '/loop', '/dangling/x', '/d']) {
      const { message } = await put(person, world.base, target, 'x');
      expect(message, target).not.toMatch(/E[A-Z]{4,}|\/proc\/|internal error/);
      expect(message.includes(disk), `${target}: ${message}`).toBe(false);
    }
  });

  describe('C17: a quota', () => {
    test('is over the files below the base path, for uploads of every kind and for copies, and 100 at once do not get past it', async () => {
      const { path, disk } = await world.folder('quota');
      const person = await makePerson(world, { base_path: path, permission: ALL_WRITES });
      const fields = {
        username: person.username,
        password: '',
        base_path: path,
        role: 0,
        disabled: false,
        permission: ALL_WRITES,
        sso_id: '',
      };
      await world.admin.call('/api/admin/user/update', { ...fields, id: person.id, quota_bytes: 1_000 });
      expect(await person.get('/api/me')).toMatchObject({ data: { quota_bytes: 1_000 } });
      await writeFile(join(disk, 'there'), 'x'.repeat(500));
      const body = (bytes: number) => 'x'.repeat(bytes);
      const full = failed(500, 'quota exceeded: your files may have 1000 bytes in all');
      expect(await put(person, world.base, '/big', body(501))).toMatchObject(full);
      // Without a Content-Length nobody knows beforehand how much comes.
      expect(await put(person, world.base, '/big', pieces(body(501)))).toMatchObject(full);
      expect(await person.post('/api/fs/copy', { src_dir: '/', dst_dir: '/d', names: ['there'] })).toMatchObject(DONE);
      expect(await put(person, world.base, '/one', 'x')).toMatchObject(full);
      await person.call('/api/fs/remove', { dir: '/d', names: ['there'] });
      // What is there is counted anew now: a count beside uploads may take one of them for two.
      expect(await put(person, world.base, '/big', body(501))).toMatchObject(full);
      const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => put(person, world.base, `/f${index}`, body(20))));
      expect(answers.filter(({ code }) => code === 200)).toHaveLength(25);
      for (const answer of answers) if (answer.code !== 200) expect(answer).toMatchObject(full);
      expect((await treeOf(disk)).filter((line) => line.startsWith('f'))).toHaveLength(25);
    });
  });
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += 100) yield Buffer.from(text.slice(at, at + 100));
}

/** A file that holds its path, or a folder. */
async function make(folder: string, path: string): Promise<void> {
  const place = join(folder, path);
  await mkdir(path.endsWith('/') ? place : dirname(place), { recursive: true });
  if (!path.endsWith('/')) await writeFile(place, path);
}

/** Every file as `<path><<content>`, and every empty folder with `/` at its end. */
async function treeOf(folder: string): Promise<string[]> {
  const lines: string[] = [];
  const walk = async (inner: string) => {
    const entries = await readdir(join(folder, inner), { withFileTypes: true });
    if (entries.length === 0 && inner !== '') lines.push(`${inner}/`);
    for (const entry of entries) {
      const path = inner === '' ? entry.name : `${inner}/${entry.name}`;
      if (path === '.wharf-tmp') continue;
      if (entry.isDirectory()) await walk(path);
      else lines.push(`${path}<${(await readFile(join(folder, path), 'utf8')).slice(0, 40)}`);
    }
  };
  await walk('');
  return lines.toSorted();
}
