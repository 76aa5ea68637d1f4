import { expect, it, vi } from 'vitest';
import type { SendFile } from './send-file.ts';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const { createUploadQueue } = await import('./upload-queue.ts');
const { OtherFile } = await import('./send-parts.ts');
vi.unstubAllGlobals();

const fileOf = (name: string) => ({ file: { name, size: 1, lastModified: 1 } as File, path: `/${name}` });
const filesOf = (count: number) => Array.from({ length: count }, (_, index) => fileOf(`${index}`));

function open() {
  const nothing = () => undefined;
  /** Comes to its end when it is ended. */
  const send = vi.fn<SendFile>(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))));
  return { send, queue: createUploadQueue({ send, end: nothing, hold: nothing, onArrival: nothing, onChange: nothing }) };
}

it('begins none of those that wait when all are paused', () => {
  const { send, queue } = open();
  queue.add(filesOf(50));
  queue.pauseAll();
  expect(send).toHaveBeenCalledTimes(3);
  expect(new Set(queue.uploads().map(({ state }) => state))).toEqual(new Set(['paused']));
  for (const { id } of queue.uploads()) queue.resume(id);
  expect(send).toHaveBeenCalledTimes(6);
});

it('looks through no others for each of a thousand files', () => {
  const spies = (['find', 'filter'] as const).map((method) => vi.spyOn(Array.prototype, method));
  const { queue } = open();
  queue.add(filesOf(1_000));
  queue.pauseAll();
  for (const { id } of queue.uploads()) queue.resume(id);
  const looks = spies.flatMap(({ mock }) => mock.contexts).reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0);
  for (const spy of spies) spy.mockRestore();
  expect(looks).toBeLessThan(10_000);
});

it('gives a lost one its file once', () => {
  const { send, queue } = open();
  queue.addUnfinished([{ session: 's', path: '/0', sizeBytes: 1, receivedBytes: 0, modifiedMs: 1 }]);
  queue.add([fileOf('0'), fileOf('0')]);
  expect(send.mock.calls.map(([{ session }]) => session)).toEqual(['s', undefined]);
  expect(queue.giveFiles([fileOf('0').file])).toBe(1);
});

it('a lost one whose date another program told in seconds fits', () => {
  const { send, queue } = open();
  const lost = { session: 's', sizeBytes: 1, receivedBytes: 0 };
  queue.addUnfinished([
    { ...lost, path: '/0', modifiedMs: 5_000 },
    { ...lost, path: '/1', modifiedMs: 5_123 },
    { ...lost, path: '/2', modifiedMs: 6_000 },
  ]);
  const at = (name: string) => ({ ...fileOf(name).file, lastModified: 5_123 });
  expect(queue.giveFiles([at('0'), at('1'), at('2')])).toBe(1);
  expect(send.mock.calls.map(([{ path }]) => path)).toEqual(['/0', '/1']);
});

/** Opens one with an unfinished upload for each path, whose parts are of the file at the path of `ownerOf`. */
function openLost(paths: readonly string[]) {
  const owners = new Map<File, string>();
  const opened = open();
  opened.send.mockImplementation(async ({ file, session }) =>
    session === undefined || session === owners.get(file) ? { state: 'done' } : { state: 'failed', error: new OtherFile() },
  );
  opened.queue.addUnfinished(paths.map((path) => ({ session: path, path, sizeBytes: 1, receivedBytes: 1, modifiedMs: 1 })));
  const fileFor = (path: string, webkitRelativePath = '') => {
    const file = { name: path.split('/').at(-1), size: 1, lastModified: 1, webkitRelativePath } as File;
    owners.set(file, path);
    return file;
  };
  const seen = () => opened.queue.uploads().map(({ path, state, error }) => [path, state, error instanceof OtherFile]);
  return { ...opened, fileFor, seen };
}

it('a file that fits several goes on with the one whose parts are of it', async () => {
  const { queue, fileFor, seen } = openLost(['/a/x', '/b/x', '/c/x']);
  expect(queue.giveFiles([fileFor('/b/x')])).toBe(0);
  await vi.waitFor(() => expect(seen()[1]?.[1]).toBe('done'));
  expect(seen()).toEqual([
    ['/a/x', 'lost', false],
    ['/b/x', 'done', false],
    ['/c/x', 'lost', false],
  ]);
  // One of which no upload has parts is told with the last.
  queue.giveFiles([fileFor('/d/x')]);
  await vi.waitFor(() => expect(seen()[2]?.[2]).toBe(true));
  expect(seen().map(([, state]) => state)).toEqual(['lost', 'done', 'lost']);
});

it('a file of a folder goes by its path in it', async () => {
  const { queue, send, fileFor, seen } = openLost(['/a/x', '/b/x']);
  expect(queue.giveFiles([fileFor('/b/x', 'b/x'), fileFor('/d/x', 'd/x')])).toBe(1);
  await vi.waitFor(() => expect(seen()[1]?.[1]).toBe('done'));
  expect(send).toHaveBeenCalledOnce();
});

it('a file that is dropped where an upload of another one is unfinished is sent beside that', async () => {
  const { queue, fileFor, seen } = openLost(['/a/x', '/b/x']);
  queue.add([{ file: fileFor('/b/x'), path: '/a/x' }]);
  await vi.waitFor(() => expect(seen()[2]?.[1]).toBe('done'));
  expect(seen()).toEqual([
    ['/a/x', 'lost', false],
    ['/b/x', 'lost', false],
    ['/a/x', 'done', false],
  ]);
});

it('a file that changes while it is sent beside an unfinished one is not sent anew without end', async () => {
  const { queue, send, fileFor, seen } = openLost(['/a/x']);
  send.mockImplementation(async () => (send.mock.calls.length > 20 ? { state: 'done' } : { state: 'failed', error: new OtherFile() }));
  queue.add([{ file: fileFor('/b/x'), path: '/a/x' }]);
  await vi.waitFor(() => expect(seen().at(-1)?.[2]).toBe(true));
  expect(send).toHaveBeenCalledTimes(2);
});
