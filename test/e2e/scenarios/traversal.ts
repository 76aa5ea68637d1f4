import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, at, httpRequest } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorization, FORM_BOUNDARY, formBody, namesIn, put, readEnvelope } from '../support/files.ts';
import { HOSTILE_PATHS, HOSTILE_WIRE_PATHS } from '../support/hostile-paths.ts';
import { inParallel } from '../support/in-parallel.ts';
import { ALL_WRITES, makePerson, type Person, userFields } from '../support/people.ts';
import { exchangeRaw } from '../support/raw-request.ts';
import { withSettings } from '../support/settings.ts';
import { snapshotTree } from '../support/tree-snapshot.ts';
import type { World } from '../support/world.ts';

/** Stands in what lies outside the mount, in files and in names. */
const OUTSIDE = 'canary-outside-7c1f';
/** Stands in what lies in the mount, but outside the base path of the user. */
const NEIGHBOUR = 'canary-neighbour-5d2e';
const WIDTH = 6;
/** A path rule that says nothing. */
const NO_RULE = {
  ...{ id: 0, password: '', p_sub: false, write: false, w_sub: false, hide: '', h_sub: false, readme: '', r_sub: false },
  ...{ header: '', header_sub: false, read_users: [], read_users_sub: false, write_users: [], write_users_sub: false },
};

/** Nothing outside a mount or a base path is ever read, listed, changed or made. */
export function traversal(world: World): void {
  const { admin, base, outside } = world;
  const { filesDir } = world.wharf;

  /** What no answer may hold: for the admin what lies outside the mount, for others what lies outside their base path too. */
  const requireNoLeak = (caller: Api, text: string, sent: string) => {
    const shown = `${sent.slice(0, 300)} was answered with`;
    if (text.includes(OUTSIDE) || (caller !== admin && text.includes(NEIGHBOUR)))
      throw new Error(`${shown} what lies outside: ${text.slice(0, 500)}`);
    if (text.includes(outside)) throw new Error(`${shown} where the files are: ${text.slice(0, 500)}`);
    if (/\.ts:\d+|node:internal|ENOENT|EINVAL|ENAMETOOLONG|ELOOP|internal error/.test(text))
      throw new Error(`${shown} our insides: ${text.slice(0, 500)}`);
  };

  const post = async (caller: Api, route: string, body: unknown): Promise<{ code: number; message: string; data: unknown }> => {
    const sent = JSON.stringify(body);
    const headers = { ...authorization(caller), 'content-type': 'application/json' };
    const answer = await httpRequest(base, { method: 'POST', path: route, headers, body: sent });
    requireNoLeak(caller, answer.text(), `${route} ${sent}`);
    const envelope = readEnvelope(answer);
    expect([200, 400, 403, 404, 500], `${route} ${sent.slice(0, 200)}: ${envelope.message}`).toContain(envelope.code);
    return envelope;
  };

  describe('nothing outside', () => {
    let before: string[];
    let person: Person;
    let folder: string;
    /** Folders of the files folder that may change, relative to `outside`. */
    let open: string[];

    beforeAll(async () => {
      const { path, disk } = await world.folder('sandbox');
      folder = path;
      await mkdir(join(disk, 'team', 'work'), { recursive: true });
      const places: [string, string][] = [
        [outside, OUTSIDE],
        [`${filesDir}-private`, OUTSIDE],
        [filesDir, NEIGHBOUR],
        [disk, NEIGHBOUR],
        [join(disk, 'team-private'), NEIGHBOUR],
      ];
      for (const [place, canary] of places) {
        await mkdir(join(place, 'beyond-folder', canary), { recursive: true });
        await mkdir(join(place, canary));
        await writeFile(join(place, 'beyond.txt'), canary);
        await writeFile(join(place, 'beyond-folder', 'inside.txt'), canary);
      }
      await writeFile(join(disk, 'team', 'work', 'own.txt'), 'own');
      person = await makePerson(world, { base_path: `${path}/team`, permission: ALL_WRITES | 3 });
      open = [join('files', disk.slice(filesDir.length + 1), 'team')];
      before = await snapshotTree(outside, open);
    });
    /** After everything: each file, folder and link outside is as it was. */
    const requireUntouched = async () => expect(await snapshotTree(outside, open)).toEqual(before);
    afterAll(requireUntouched);

    test('C1: hostile paths in every field of every call on files end inside the base path of the caller', async () => {
      const tries: ((text: string) => [string, unknown])[] = [
        (text) => ['/api/fs/list', { path: text }],
        (text) => ['/api/fs/list', { path: `/work/${text}` }],
        (text) => ['/api/fs/get', { path: text }],
        (text) => ['/api/fs/get', { path: `/work/${text}/beyond.txt` }],
        (text) => ['/api/fs/dirs', { path: text }],
        (text) => ['/api/fs/search', { parent: text, keywords: 'a', scope: 0, page: 1, per_page: 10, password: '' }],
        (text) => ['/api/fs/other', { path: text, method: text, data: text, password: '' }],
        (text) => ['/api/fs/mkdir', { path: `/work/${text}` }],
        (text) => ['/api/fs/mkdir', { path: `${text}/beyond-made` }],
        (text) => ['/api/fs/rename', { path: `/work/${text}`, name: 'renamed' }],
        (text) => ['/api/fs/rename', { path: `/work/${text}/beyond.txt`, name: 'renamed' }],
        (text) => ['/api/fs/rename', { path: '/work/own.txt', name: text, overwrite: true }],
        (text) => ['/api/fs/batch_rename', { src_dir: text, rename_objects: [{ src_name: `beyond.txt`, new_name: 'x' }] }],
        (text) => ['/api/fs/batch_rename', { src_dir: '/work', rename_objects: [{ src_name: text, new_name: text }] }],
        (text) => ['/api/fs/regex_rename', { src_dir: text, src_name_regex: 'beyond', new_name_regex: text }],
        (text) => ['/api/fs/batch_rename', { src_dir: '/work', rename_objects: [{ src_name: 'own.txt', new_name: text }] }],
        (text) => ['/api/fs/regex_rename', { src_dir: '/work', src_name_regex: '^own', new_name_regex: text }],
        (text) => ['/api/fs/regex_rename', { src_dir: '/work', src_name_regex: text, new_name_regex: '$0' }],
        (text) => ['/api/fs/move', { src_dir: text, dst_dir: '/work', names: [`beyond.txt`] }],
        (text) => ['/api/fs/move', { src_dir: '/work', dst_dir: `${text}/beyond-folder`, names: ['own.txt'] }],
        (text) => ['/api/fs/move', { src_dir: '/work', dst_dir: '/work/sub', names: [`${text}/beyond.txt`], overwrite: true }],
        (text) => ['/api/fs/copy', { src_dir: text, dst_dir: '/work', names: [`beyond.txt`] }],
        (text) => ['/api/fs/copy', { src_dir: '/work', dst_dir: `${text}/beyond-folder`, names: ['own.txt'] }],
        (text) => ['/api/fs/copy', { src_dir: '/work', dst_dir: '/work/sub', names: [`${text}/beyond.txt`, text], merge: true }],
        (text) => ['/api/fs/recursive_move', { src_dir: text, dst_dir: text }],
        (text) => ['/api/fs/recursive_move', { src_dir: '/work/sub', dst_dir: text, conflict_policy: text }],
        (text) => ['/api/fs/recursive_move', { src_dir: `${text}/beyond-folder`, dst_dir: '/work', conflict_policy: 'overwrite' }],
        (text) => ['/api/fs/remove', { dir: `/work/${text}`, names: [`beyond.txt`, `beyond-folder`] }],
        (text) => ['/api/fs/remove', { dir: '/work', names: [`${text}/beyond.txt`] }],
        (text) => ['/api/fs/remove', { dir: '/work/sub', names: [text] }],
        (text) => ['/api/fs/remove_empty_directory', { src_dir: `/work/${text}` }],
      ];
      const calls = HOSTILE_PATHS.flatMap((text) => tries.map((make) => make(text)));
      await inParallel(WIDTH, calls, ([route, body]) => post(person, route, body));
      await requireUntouched();
    });

    test('C1: the admin gets no further than the mount', async () => {
      const calls = HOSTILE_PATHS.filter((text) => !['', '/', '.', '-private'].includes(text)).flatMap((text): [string, unknown][] => [
        ['/api/fs/list', { path: `/local/${text}` }],
        ['/api/fs/get', { path: `/local/${text}/beyond-folder/inside.txt` }],
        ['/api/fs/mkdir', { path: `/local${text}/beyond-made` }],
        ['/api/fs/rename', { path: `/local/${text}/files-private`, name: 'x' }],
        ['/api/fs/move', { src_dir: `/local/${text}`, dst_dir: `${folder}/team`, names: ['files-private'] }],
        ['/api/fs/copy', { src_dir: `/local/${text}`, dst_dir: `${folder}/team`, names: ['files-private'] }],
        ['/api/fs/remove', { dir: `/local/${text}`, names: ['files-private'] }],
        ['/api/fs/dirs', { path: text, force_root: true }],
        ['/api/fs/link', { path: `/local/${text}` }],
      ]);
      await inParallel(WIDTH, calls, ([route, body]) => post(admin, route, body));
      // What was made under odd names is below the files folder: the admin may do that.
      for (const name of await namesIn(admin, '/local'))
        if (!before.some((line) => line.includes(` files/${name}`))) await post(admin, '/api/fs/remove', { dir: '/local', names: [name] });
      await requireUntouched();
    });

    test('C3: File-Path, raw or encoded once or twice, ends inside', async () => {
      const { hostname, port } = new URL(base);
      const request = (route: 'put' | 'form', target: string, caller: Api): Buffer => {
        const body = route === 'form' ? formBody('file', 'evil', '../../../../evil.txt') : Buffer.from('evil');
        const type = route === 'form' ? `multipart/form-data; boundary=${FORM_BOUNDARY}` : 'application/octet-stream';
        const head = [
          `PUT /api/fs/${route} HTTP/1.1`,
          `Host: ${hostname}:${port}`,
          `Authorization: ${caller.token}`,
          `File-Path: ${target}`,
          `Content-Type: ${type}`,
          `Content-Length: ${body.length}`,
          'Connection: close',
        ];
        return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
      };
      const targets = HOSTILE_WIRE_PATHS.flatMap((text) => [text, `/work/${text}`, `${text}/beyond.txt`, `${text}%2fbeyond-new.txt`]);
      const calls = targets.flatMap((target): ['put' | 'form', string][] => [
        ['put', target],
        ['form', target],
      ]);
      await inParallel(WIDTH, calls, async ([route, target]) => {
        const answer = await exchangeRaw(base, request(route, target, person));
        requireNoLeak(person, answer.body, `${route} ${target}`);
        expect([answer.status, answer.body], `${route} ${target}`).toEqual([
          200,
          expect.stringMatching(/^\{"code":(200|400|403|500),"message":/),
        ]);
      });
      await requireUntouched();
    });

    test('C3: download addresses end inside, signed or not', async () => {
      const { hostname, port } = new URL(base);
      const targets = HOSTILE_WIRE_PATHS.filter((text) => !/[\s]/.test(text)).flatMap((text) => [
        `${text}`,
        `local/${text}/beyond.txt`,
        `local/${text}/files-private/beyond.txt`,
        `local%2f${text}%2fbeyond.txt`,
        `${folder.slice(1)}/team/${text}${text}${text}/../beyond.txt`,
      ]);
      const paths = targets.flatMap((target) => [`/d/${target}`, `/p/${target}`]);
      await withSettings(world, { sign_all: 'false' }, () =>
        inParallel(WIDTH, paths, async (path) => {
          const answer = await exchangeRaw(base, `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`);
          requireNoLeak(admin, answer.body, path);
          expect(answer.status, `${path}: ${answer.body.slice(0, 200)}`).toBeLessThan(500);
        }),
      );
      await requireUntouched();
    });

    test('C1: mount paths, base paths and rule paths never climb', async () => {
      const hostile = HOSTILE_PATHS.filter((text) => /(^|[\\/])\.\.([\\/]|$)/.test(text) && text.length < 2000);
      const { username } = person;
      for (const text of hostile) {
        const calls: [string, unknown][] = [
          [
            '/api/admin/storage/create',
            { mount_path: `/mounts/${text}`, driver: 'Local', addition: JSON.stringify({ root_folder_path: filesDir }) },
          ],
          [
            '/api/admin/user/update',
            userFields({ id: person.id, username, base_path: `${folder}/team/${text}`, permission: ALL_WRITES | 3 }),
          ],
          ['/api/admin/user/create', userFields({ username: world.unique('climber'), base_path: text })],
          ['/api/admin/meta/create', { path: `${folder}/${text}`, password: 'x', p_sub: true }],
        ];
        for (const [route, body] of calls) {
          const { code, message } = await admin.post(route, body);
          expect([code, message], `${route} ${text}`).toEqual([403, 'using relative path is not allowed']);
        }
      }
      expect(await post(person, '/api/fs/list', { path: '/work' })).toMatchObject({ code: 200 });
    });

    test('C5: links out of the root lead nowhere, links inside it work, and a link itself can be removed', async () => {
      const team = join(filesDir, folder.slice('/local/'.length), 'team');
      const links: Record<string, string> = {
        'link-to-file': join(outside, 'beyond.txt'),
        'link-to-folder': join(outside, 'beyond-folder'),
        'link-to-sibling': `${filesDir}-private`,
        'link-up': '../../../..',
        'link-dangling': join(outside, 'beyond-not-there.txt'),
        'link-dangling-in-folder': join(outside, 'beyond-folder', 'new.txt'),
        'link-chain': 'link-to-folder',
        'link-loop': 'link-loop',
        'link-root': '/',
        'link-proc': '/proc/self/root',
      };
      for (const [name, target] of Object.entries(links)) await symlink(target, join(team, name));
      await symlink('work', join(team, 'link-inside'));
      expect(await post(person, '/api/fs/list', { path: '/link-inside' })).toMatchObject({ code: 200 });
      for (const name of Object.keys(links)) {
        const reads: [string, unknown][] = [
          ['/api/fs/list', { path: `/${name}` }],
          ['/api/fs/list', { path: `/${name}/..` }],
          ['/api/fs/dirs', { path: `/${name}` }],
          ['/api/fs/get', { path: `/${name}/beyond.txt` }],
          ['/api/fs/get', { path: `/${name}/inside.txt` }],
          ['/api/fs/get', { path: `/${name}/etc/hostname` }],
        ];
        for (const [route, body] of reads) expect((await post(person, route, body)).code, `${route} ${JSON.stringify(body)}`).not.toBe(200);
        const raw = at((await post(person, '/api/fs/get', { path: `/${name}` })).data, 'raw_url');
        if (typeof raw === 'string' && raw !== '') {
          const { pathname, search } = new URL(raw);
          const answer = await httpRequest(base, { path: pathname + search });
          requireNoLeak(person, answer.text(), pathname);
          expect(answer.status, name).toBeGreaterThanOrEqual(400);
        }
        for (const target of [name, `${name}/beyond-new.txt`, `${name}/inside.txt`]) {
          const answer = await put(person, base, `/${target}`, 'evil');
          expect(answer.code, `put ${target}: ${answer.message}`).not.toBe(200);
        }
        expect((await post(person, '/api/fs/mkdir', { path: `/${name}/beyond-made` })).code, `mkdir ${name}`).not.toBe(200);
        await post(person, '/api/fs/rename', { path: `/${name}/inside.txt`, name: 'x' });
        await post(person, '/api/fs/move', { src_dir: `/${name}`, dst_dir: '/work', names: ['inside.txt', `beyond.txt`] });
        await post(person, '/api/fs/copy', { src_dir: `/${name}`, dst_dir: '/work', names: ['inside.txt', `beyond.txt`] });
        await post(person, '/api/fs/copy', { src_dir: '/', dst_dir: '/work/copied', names: [name] });
        await post(person, '/api/fs/move', { src_dir: '/work', dst_dir: `/${name}`, names: ['own.txt'] });
        await post(person, '/api/fs/remove', { dir: `/${name}`, names: ['inside.txt', `beyond.txt`, `beyond-folder`] });
        await post(person, '/api/fs/remove_empty_directory', { src_dir: `/${name}` });
        await post(person, '/api/fs/recursive_move', { src_dir: `/${name}`, dst_dir: '/work' });
      }
      await requireUntouched();
      await post(person, '/api/fs/remove', { dir: '/', names: Object.keys(links) });
      await requireUntouched();
      expect(await readFile(join(team, 'work', 'own.txt'), 'utf8').catch(() => 'moved')).not.toContain('canary');
      for (const line of await snapshotTree(team)) expect(line).not.toContain('canary');
    });

    test('names that Unicode writes in two ways are two names, and none of them is another file', async () => {
      const names = ['caf\u00e9.txt', 'cafe\u0301.txt', '\u212b.txt', '\u00c5.txt', 'A\u030a.txt', '\ufb01.txt', 'fi.txt'];
      await post(person, '/api/fs/mkdir', { path: '/forms' });
      for (const name of names) expect(await put(person, base, `/forms/${name}`, name)).toMatchObject({ code: 200 });
      expect((await namesIn(person, '/forms')).toSorted()).toEqual(names.toSorted());
      const team = join(filesDir, folder.slice('/local/'.length), 'team');
      for (const name of names) expect(await readFile(join(team, 'forms', name), 'utf8')).toBe(name);
    });
  });

  test('C2: a folder whose name begins like another is not that folder', async () => {
    const { path, disk } = await world.folder('prefix');
    for (const name of ['team', 'team-private']) {
      await mkdir(join(disk, name));
      await writeFile(join(disk, name, 'f.txt'), name);
    }
    const [one, other] = await Promise.all(
      ['team', 'team-private'].map((name) => makePerson(world, { base_path: `${path}/${name}`, permission: ALL_WRITES })),
    );
    if (!one || !other) throw new Error('there are two');
    expect((await post(one, '/api/fs/get', { path: '/f.txt' })).code).toBe(200);
    for (const text of ['-private', '/-private', '../team-private', '/team-private', `${path}/team-private`]) {
      expect((await post(one, '/api/fs/list', { path: text })).code, text).not.toBe(200);
      await post(one, '/api/fs/remove', { dir: text, names: ['f.txt'] });
      await post(one, '/api/fs/copy', { src_dir: text, dst_dir: '/', names: ['f.txt'], overwrite: true });
    }
    await admin.call('/api/admin/meta/create', { ...NO_RULE, path: `${path}/team`, password: 'word', p_sub: true });
    expect((await post(one, '/api/fs/list', { path: '/' })).code).toBe(403);
    expect((await post(other, '/api/fs/list', { path: '/' })).code).toBe(200);
    await post(admin, '/api/fs/remove', { dir: path, names: ['team'] });
    expect(await readFile(join(disk, 'team-private', 'f.txt'), 'utf8')).toBe('team-private');
  });
}
