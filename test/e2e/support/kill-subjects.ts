import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at } from '@wharf/harness';
import { change, type Subject } from './acknowledged.ts';
import { type Answer, formBody, put, putForm } from './files.ts';
import { loginSubjects } from './login-subjects.ts';
import { dataOf, userFields } from './people.ts';
import { settingItems } from './settings.ts';
import type { SourceServer } from './source-server.ts';
import type { World } from './world.ts';

/** Most files are small; every tenth takes a while. */
const SPREAD_BYTES = 300_000;
const BIG_BYTES = 4 * 1024 * 1024;
/** Names that are written again and again. */
const REWRITTEN = 20;

/** Everything that is written in a Wharf, as subjects for clients that run beside each other. @param other a second storage: path and folder */
export async function killSubjects(world: World, other: { path: string; disk: string }, source: SourceServer): Promise<Subject[]> {
  return [
    ...(await uploads(world)),
    await folders(world),
    await moves(world),
    await transfers(world, 'copy', other),
    await transfers(world, 'move', other),
    await downloads(world, source),
    ...records(world),
    ...loginSubjects(world),
  ];
}

async function uploads(world: World): Promise<Subject[]> {
  const { admin, base } = world;
  const ways: readonly [string, (path: string, content: Buffer) => Promise<Answer>, (number: number) => string][] = [
    ['put', (path, content) => put(admin, base, path, content), (number) => `f${number % REWRITTEN}`],
    ['form', (path, content) => putForm(admin, base, path, formBody('file', content)), (number) => `f${number % REWRITTEN}`],
    // Two waiting uploads of one name may be stored in any order.
    ['as-task', (path, content) => put(admin, base, path, content, { 'as-task': 'true' }), (number) => `f${number}`],
  ];
  return Promise.all(
    ways.map(async ([kind, send, nameOf]): Promise<Subject> => {
      const { path, disk } = await world.folder(kind);
      return {
        kind,
        next(_, number) {
          const content = contentOf(kind, number);
          return {
            after: new Map([[nameOf(number), digestOf(content)]]),
            make: async () => accepted(await send(`${path}/${nameOf(number)}`, content)),
          };
        },
        read: () => filesIn(disk),
      };
    }),
  );
}

async function folders({ admin, folder }: World): Promise<Subject> {
  const { path, disk } = await folder('folders');
  return {
    kind: 'folder',
    next(there, number) {
      const [oldest] = there.keys();
      if (oldest === undefined || number % 3 === 0)
        return change([[`made-${number}`, 'folder']], () => admin.call('/api/fs/mkdir', { path: `${path}/made-${number}` }));
      if (number % 3 === 1) {
        const name = `renamed-${number}`;
        const after = [
          [oldest, undefined],
          [name, 'folder'],
        ] as const;
        return change(after, () => admin.call('/api/fs/rename', { path: `${path}/${oldest}`, name }));
      }
      return change([[oldest, undefined]], () => admin.call('/api/fs/remove', { dir: path, names: [oldest] }));
    },
    read: async () => new Map((await readdir(disk)).map((name) => [name, 'folder'])),
  };
}

/** One file that goes to and fro between two folders of a storage. */
async function moves(world: World): Promise<Subject> {
  const { admin, base } = world;
  const { path, disk } = await world.folder('moves');
  await Promise.all(['x', 'y'].map((name) => mkdir(join(disk, name))));
  return {
    kind: 'move within',
    next(there, number) {
      const [[name, digest] = []] = there;
      if (name === undefined || digest === undefined) {
        const content = contentOf('moves', number);
        return change([[`x/m${number}`, digestOf(content)]], async () => accepted(await put(admin, base, `${path}/x/m${number}`, content)));
      }
      const [from = '', file = ''] = name.split('/');
      const to = from === 'x' ? 'y' : 'x';
      const after = [
        [name, undefined],
        [`${to}/${file}`, digest],
      ] as const;
      return change(after, () => admin.call('/api/fs/move', { src_dir: `${path}/${from}`, dst_dir: `${path}/${to}`, names: [file] }));
    },
    read: () => filesIn(disk),
  };
}

/** Files that are uploaded, and each then taken to another storage by a task. */
async function transfers(world: World, verb: 'copy' | 'move', other: { path: string; disk: string }): Promise<Subject> {
  const { admin, base } = world;
  const { path, disk } = await world.folder(verb);
  await mkdir(join(other.disk, verb));
  return {
    kind: `${verb} between`,
    next(there, number) {
      const waiting = [...there.keys()].find((name) => name.startsWith('here/') && !there.has(name.replace('here/', 'there/')));
      if (waiting === undefined) {
        const content = contentOf(verb, number);
        return change([[`here/f${number}`, digestOf(content)]], async () =>
          accepted(await put(admin, base, `${path}/f${number}`, content)),
        );
      }
      const name = waiting.slice('here/'.length);
      const after: [string, string | undefined][] = [[`there/${name}`, there.get(waiting)]];
      if (verb === 'move') after.push([waiting, undefined]);
      return change(after, () => admin.call(`/api/fs/${verb}`, { src_dir: path, dst_dir: `${other.path}/${verb}`, names: [name] }));
    },
    read: async () =>
      new Map([
        ...[...(await filesIn(disk))].map(([name, value]) => [`here/${name}`, value] as const),
        ...[...(await filesIn(join(other.disk, verb)))].map(([name, value]) => [`there/${name}`, value] as const),
      ]),
  };
}

async function downloads({ admin, folder }: World, source: SourceServer): Promise<Subject> {
  const { path, disk } = await folder('downloads');
  return {
    kind: 'offline download',
    next(_, number) {
      const content = contentOf('download', number);
      source.files.set(`/d${number}.bin`, content);
      return change([[`d${number}.bin`, digestOf(content)]], () =>
        admin.call('/api/fs/add_offline_download', {
          urls: [`${source.url}/d${number}.bin`],
          ...{ path, tool: 'SimpleHttp', delete_policy: 'delete_always' },
        }),
      );
    },
    read: () => filesIn(disk),
  };
}

/** What the store holds: each is made, changed and deleted in turn. */
function records(world: World): Subject[] {
  const { admin } = world;
  const addition = JSON.stringify({ root_folder_path: join(world.outside, 'spare'), thumbnail: false });
  const kinds = [
    { kind: 'meta', key: 'path', value: 'readme', name: (number: number) => `/local/rule-${number}`, fields: {} },
    {
      kind: 'user',
      key: 'username',
      value: 'base_path',
      name: (number: number) => `somebody-${number}`,
      fields: userFields({ password: 'secret' }),
    },
    {
      kind: 'storage',
      key: 'mount_path',
      value: 'remark',
      name: (number: number) => `/storage-${number}`,
      fields: { driver: 'Local', addition },
    },
  ];
  const list = async (kind: string) => {
    const content = at(await dataOf(admin, `/api/admin/${kind}/list?page=1&per_page=1000`), 'content');
    return Array.isArray(content) ? content.map((record: unknown) => Object(record)) : [];
  };
  const ours = (name: unknown) => /^(\/local\/rule|somebody|\/storage)-\d+$/.test(String(name));
  const subjects = kinds.map(
    ({ kind, key, value, name, fields }): Subject => ({
      kind,
      next(there, number) {
        const [oldest] = there.keys();
        const text = `/${kind}-${number}`;
        if (oldest === undefined || number % 3 === 0)
          return change([[name(number), text]], () =>
            admin.call(`/api/admin/${kind}/create`, { ...fields, [key]: name(number), [value]: text }),
          );
        const found = async () => (await list(kind)).find((record) => record[key] === oldest);
        if (number % 3 === 1)
          return change([[oldest, text]], async () => admin.call(`/api/admin/${kind}/update`, { ...(await found()), [value]: text }));
        return change([[oldest, undefined]], async () => admin.call(`/api/admin/${kind}/delete?id=${(await found())?.id}`));
      },
      read: async () =>
        new Map((await list(kind)).filter((record) => ours(record[key])).map((record) => [String(record[key]), String(record[value])])),
    }),
  );
  const announcement: Subject = {
    kind: 'setting',
    next: (_, number) =>
      change([['announcement', `text ${number}`]], async () =>
        admin.call('/api/admin/setting/save', await settingItems(world, { announcement: `text ${number}` })),
      ),
    read: async () => {
      const value = String(at(await dataOf(admin, '/api/admin/setting/get?key=announcement'), 'value'));
      return new Map(value === '' ? [] : [['announcement', value]]);
    },
  };
  return [...subjects, announcement];
}

function accepted(answer: Answer): void {
  if (answer.code !== 200) throw new Error(`refused with ${answer.code}: ${answer.message}`);
}

function contentOf(kind: string, number: number): Buffer {
  return Buffer.alloc(number % 10 === 9 ? BIG_BYTES + number : 1 + ((number * 7919) % SPREAD_BYTES), `${kind} ${number} `);
}

const digestOf = (content: Buffer) => `${content.length} bytes ${createHash('sha256').update(content).digest('base64')}`;

/** Each file below a folder by its relative path, with its digest; unfinished ones have other names. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (file) => [file.slice(folder.length + 1), digestOf(await readFile(file))] as const)));
}
