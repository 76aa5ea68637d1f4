import { expect, it } from 'vitest';
import { createTransmissionTool } from './transmission-tool.ts';

const SOURCE = { kind: 'magnet', url: 'magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a' } as const;

const { signal } = new AbortController();

/** A tool whose server answers every call with this. */
function toolOf(answer: Record<string, unknown>) {
  return createTransmissionTool({ call: async () => answer, version: async () => '4.0' });
}

it.each([
  ['of a million characters', 'a'.repeat(1_000_000)],
  ['that is a path', '../../x'],
  ['that is none', ''],
])('a torrent with an id %s is not understood: it would be kept with its task', async (_, hashString) => {
  const adding = toolOf({ 'torrent-added': { hashString }, torrents: [] }).add(SOURCE as never, '/d', AbortSignal.timeout(30_000));
  await expect(adding).rejects.toMatchObject({ code: 'CONTENT_CORRUPT', message: expect.stringContaining('Transmission') });
});

it.each([40, 64])('an id of %i digits is one', async (digits) => {
  const hashString = 'aB3'.repeat(30).slice(0, digits);
  expect(await toolOf({ 'torrent-duplicate': { hashString }, torrents: [] }).add(SOURCE as never, '/d', AbortSignal.timeout(30_000))).toBe(
    hashString,
  );
});

it('what is left of a torrent whose adding was broken off is taken out, and nothing in other folders', async () => {
  const called: [string, unknown][] = [];
  const torrents = [
    { hashString: 'a'.repeat(40), downloadDir: '/d/' },
    { hashString: 'b'.repeat(40), downloadDir: '/d2' },
  ];
  const call = async (method: string, asked?: unknown) => {
    called.push([method, asked]);
    return { torrents };
  };
  const tool = createTransmissionTool({ call, version: async () => '4.0' });
  await tool.removeFrom('/d', signal);
  expect(called.slice(1)).toEqual([['torrent-remove', { ids: ['a'.repeat(40)], 'delete-local-data': false }]]);
  await tool.removeFrom('/none', signal);
  expect(called.map(([method]) => method)).toEqual(['torrent-get', 'torrent-remove', 'torrent-get']);
});

const HASH = 'a'.repeat(40);
const DOWNLOADING = { status: 4, isFinished: false, haveValid: 0, sizeWhenDone: 9, leftUntilDone: 9, metadataPercentComplete: 1, error: 0 };
const HAS_ALL = { ...DOWNLOADING, haveValid: 9, leftUntilDone: 0 };

it.each([
  ['it downloads', DOWNLOADING, 'active'],
  ['all bytes came, and it is to look at them and to move the files', HAS_ALL, 'active'],
  ['it looks at them', { ...HAS_ALL, status: 2 }, 'active'],
  ['it was stopped before that', { ...HAS_ALL, status: 0 }, 'paused'],
  ['it waits to seed', { ...HAS_ALL, status: 5 }, 'complete'],
  ['it seeds', { ...HAS_ALL, status: 6 }, 'complete'],
  ['it has seeded long enough', { ...HAS_ALL, status: 0, isFinished: true }, 'complete'],
  ['it is a link that has no metadata yet', { ...HAS_ALL, status: 6, metadataPercentComplete: 0 }, 'active'],
  ['it could not move the files', { ...HAS_ALL, status: 6, error: 3 }, 'failed'],
])('of a torrent: %s', async (_what, numbers, state) => {
  const tool = toolOf({ torrents: [{ hashString: HASH, downloadDir: '/d', errorString: '', ...numbers }] });
  expect(await tool.find(HASH, '/d', signal)).toMatchObject({ state });
});

it('what is given up goes with its files, which may be where Transmission keeps what is not complete', async () => {
  const called: unknown[] = [];
  const call = async (method: string, asked?: unknown) => {
    if (method === 'torrent-remove') called.push(asked);
    return { torrents: [{ hashString: HASH, downloadDir: '/d', errorString: '', ...HAS_ALL }] };
  };
  const tool = createTransmissionTool({ call, version: async () => '4.0' });
  await tool.remove(HASH, '/d', signal, true);
  await tool.removeFrom('/d', signal, true);
  await tool.remove(HASH, '/d', signal);
  expect(called).toEqual([true, true, false].map((deletes) => ({ ids: [HASH], 'delete-local-data': deletes })));
});

it('a torrent that another download has there by now is not found, and stays', async () => {
  const hashString = 'a'.repeat(40);
  const numbers = { status: 4, haveValid: 0, sizeWhenDone: 1, leftUntilDone: 1, metadataPercentComplete: 1, error: 0 };
  const called: string[] = [];
  const call = async (method: string) => {
    called.push(method);
    if (method === 'session-get') return { 'download-dir': '/all' };
    return { torrents: [{ hashString, downloadDir: '/d2/', errorString: '', ...numbers }] };
  };
  const tool = createTransmissionTool({ call, version: async () => '4.0' });
  expect(await tool.find(hashString, '/d', AbortSignal.timeout(30_000))).toBeUndefined();
  expect(await tool.find(hashString, '/d2', AbortSignal.timeout(30_000))).toMatchObject({ state: 'active' });
  await tool.remove(hashString, '/d', signal);
  expect(called).not.toContain('torrent-remove');
  await tool.remove(hashString, '/d2', signal);
  expect(called.at(-1)).toBe('torrent-remove');
});

it.each([
  ['came with the start of Transmission, as one whose folder it forgot', '/all', 1_000, true],
  ['came later, and so is of somebody else', '/all', 1_900, false],
  ['came before, and so is of somebody else', '/all', 100, false],
  ['is in a folder that somebody chose', '/other', 1_000, false],
])('a torrent of ours that is in another folder, and that %s', async (_what, downloadDir, addedDate, isOurs) => {
  const called: [string, unknown][] = [];
  const call = async (method: string, asked?: unknown) => {
    called.push([method, asked]);
    if (method === 'session-get') return { 'download-dir': '/all/' };
    if (method === 'session-stats') return { 'current-stats': { secondsActive: 1_000 } };
    return { torrents: [{ hashString: HASH, downloadDir, addedDate, errorString: '', ...DOWNLOADING }] };
  };
  const changes = () => called.splice(0).filter(([method]) => !/^(?:session|torrent-get)/.test(method));
  const tool = createTransmissionTool({ call, version: async () => '4.0' }, () => 2_003_000);
  expect(await tool.find(HASH, '/d', signal)).toBeUndefined();
  const kept = ['torrent-remove', { ids: [HASH], 'delete-local-data': false }];
  expect(changes()).toEqual(isOurs ? [kept] : []);
  await tool.remove(HASH, '/d', signal, true);
  const moved = ['torrent-set-location', { ids: [HASH], location: '/d', move: false }];
  expect(changes()).toEqual(isOurs ? [moved, ['torrent-remove', { ids: [HASH], 'delete-local-data': true }]] : []);
});
