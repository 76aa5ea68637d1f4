import { expect, it, vi } from 'vitest';
import type { SendFile } from './send-file.ts';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const { createUploadQueue } = await import('./upload-queue.ts');
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

it('a lost one whose date another program told in seconds goes on where the server finds its parts the same', () => {
  const { send, queue } = open();
  const lost = { session: 's', sizeBytes: 1, receivedBytes: 0 };
  queue.addUnfinished([
    { ...lost, path: '/0', modifiedMs: 5_000 },
    { ...lost, path: '/1', modifiedMs: 5_123 },
    { ...lost, path: '/2', modifiedMs: 6_000 },
  ]);
  const at = (name: string) => ({ ...fileOf(name).file, lastModified: 5_123 });
  expect(queue.giveFiles([at('0'), at('1'), at('2')])).toBe(1);
  expect(send.mock.calls.map(([{ path, isUnproven }]) => [path, isUnproven])).toEqual([
    ['/0', true],
    ['/1', false],
  ]);
});
