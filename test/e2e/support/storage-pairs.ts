import { createHash } from 'node:crypto';
import { type Api, at, type FaultProxy, waitFor } from '@wharf/harness';
import { fetchFile, put } from './files.ts';
import { inParallel } from './in-parallel.ts';
import { allDone, endOf } from './tasks.ts';
import type { World } from './world.ts';

const ODD_NAMES = ['a b+ü.txt', 'caf\u00e9', '100%', "quote's", '.hidden', '😀', 'semi;colon&x=y', '#hash?'];
const MIB = 1024 * 1024;
/** Files of a folder that are fetched together. */
const AT_ONCE = 4;
/** Of a tree that is on its way: so much has passed when it is disturbed. */
const UNDER_WAY_BYTES = 300_000;

/** Content that tells where it belongs. */
function contentOf(index: number, sizeBytes: number): Buffer {
  const seed = createHash('sha256').update(`file ${index}`).digest();
  const content = Buffer.alloc(sizeBytes);
  for (let offset = 0; offset < sizeBytes; offset += seed.length) seed.copy(content, offset);
  return content;
}

/** Uploads a tree of so many files, some of odd names, one of several parts, and an empty folder. */
export async function plantTree({ admin, base }: World, folder: string, files: number): Promise<void> {
  const plant = async (index: number) => {
    const name = ODD_NAMES[index] ?? `file-${index}`;
    const sizeBytes = index === 9 ? 20 * MIB : (index * 7_919) % 300_000;
    const path = `${folder}/${['', 'one/', 'one/two/', 'three/'][index % 4]}${name}`;
    const answer = await put(admin, base, path, contentOf(index, sizeBytes));
    if (answer.code !== 200) throw new Error(`${path}: ${answer.message}`);
  };
  for (let from = 0; from < files; from += 8)
    await Promise.all(Array.from({ length: Math.min(8, files - from) }, (_, index) => plant(from + index)));
  await admin.call('/api/fs/mkdir', { path: `${folder}/one/empty` });
}

/** Every file below a folder with its size and digest, and every empty folder, as sorted lines. All bytes are fetched. */
export async function treeOf(world: World, folder: string): Promise<string[]> {
  const lines: string[] = [];
  const visit = async (relative: string): Promise<void> => {
    const path = `${folder}${relative}`;
    const content = at(await world.admin.call('/api/fs/list', { path, per_page: 0, refresh: true }), 'content');
    const entries = Array.isArray(content) ? content : [];
    if (entries.length === 0) lines.push(`${relative}/`);
    await inParallel(AT_ONCE, entries, async (entry) => {
      const inner = `${relative}/${at(entry, 'name')}`;
      if (at(entry, 'is_dir') === true) await visit(inner);
      else {
        const { body } = await fetchFile(world.admin, world.base, folder + inner);
        if (body.byteLength !== at(entry, 'size')) throw new Error(`${inner} has ${body.byteLength} bytes, not ${at(entry, 'size')}`);
        lines.push(`${inner} ${body.byteLength} ${createHash('sha256').update(body).digest('hex')}`);
      }
    });
  };
  await visit('');
  return lines.sort();
}

type Verb = 'copy' | 'move';

/** Brings a folder into another one, and waits until that is done. */
export async function carry({ admin }: World, verb: Verb, from: string, name: string, to: string): Promise<void> {
  const answer = await admin.call(`/api/fs/${verb}`, { src_dir: from, dst_dir: to, names: [name] });
  if (answer !== null) await allDone(admin, verb, answer);
}

/** The same while the way to a server breaks again and again; a task that gives up is retried, as a person would. */
export async function carryThroughFaults(
  { admin }: World,
  verb: Verb,
  { from, name, to }: { from: string; name: string; to: string },
  disturb: (progress: number) => Promise<void>,
): Promise<void> {
  const tasks = at(await admin.call(`/api/fs/${verb}`, { src_dir: from, dst_dir: to, names: [name] }), 'tasks');
  const id = at(tasks, 0, 'id');
  await waitFor('the task to be under way', async () => Number(await progressOf(admin, verb, id)) > 0, { withinMs: 60_000 });
  await disturb(Number(await progressOf(admin, verb, id)));
  await succeeds(admin, verb, id);
}

/**
 * The same while something is killed in the middle: the way to a storage stands still once bytes have passed, so that the task cannot end before.
 *
 * @param way to the one of both storages that has one
 */
export async function carryThroughKill(
  { admin }: World,
  verb: Verb,
  { from, name, to }: { from: string; name: string; to: string },
  way: FaultProxy,
  kill: () => Promise<void>,
): Promise<void> {
  const passed = () => way.bytesToServer() + way.bytesToClient();
  const before = passed();
  const id = at(await admin.call(`/api/fs/${verb}`, { src_dir: from, dst_dir: to, names: [name] }), 'tasks', 0, 'id');
  await waitFor('the task to be under way', () => passed() > before + UNDER_WAY_BYTES, { withinMs: 60_000, everyMs: 1 });
  way.stall();
  const state = at(await admin.call(`/api/task/${verb}/info?tid=${id}`, {}), 'state');
  if (state === 2) throw new Error('the task has ended too early to be disturbed');
  await kill();
  await way.resume();
  await succeeds(admin, verb, id);
}

/** Waits for the end of a task, and retries it where it gave up, as a person would. */
async function succeeds(admin: Api, verb: Verb, id: unknown): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const task = await endOf(admin, verb, id);
    if (at(task, 'state') === 2) return;
    if (attempt === 5) throw new Error(`the task did not succeed: ${JSON.stringify(task)}`);
    await admin.call(`/api/task/${verb}/retry?tid=${id}`, {});
  }
}

async function progressOf(admin: Api, verb: Verb, id: unknown): Promise<unknown> {
  const task = await admin.call(`/api/task/${verb}/info?tid=${id}`, {});
  return at(task, 'state') === 2 ? 100 : at(task, 'progress');
}

/** Removes a folder. */
export async function clear({ admin }: World, folder: string, name: string): Promise<void> {
  await admin.call('/api/fs/remove', { dir: folder, names: [name] });
}
