import { expect, it, onTestFinished, vi } from 'vitest';
import { createTracks } from './read-tracks.ts';

function open() {
  const there = new Set<string>();
  const bodies: (() => void)[] = [];
  const body = () => new Promise<ArrayBuffer>((resolve) => bodies.push(() => resolve(new TextEncoder().encode('WEBVTT\n').buffer)));
  vi.stubGlobal('fetch', async () => ({ ok: true, arrayBuffer: body }));
  vi.spyOn(URL, 'createObjectURL').mockImplementation(() => {
    there.add(`blob:${there.size}`);
    return `blob:${there.size - 1}`;
  });
  vi.spyOn(URL, 'revokeObjectURL').mockImplementation((address) => void there.delete(address));
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
  return { there, bodies, tracks: createTracks() };
}

it('keeps none of the subtitles that come when the viewer has left', async () => {
  const { there, bodies, tracks } = open();
  const read = tracks.read(['one', 'other'].map((label) => ({ label, address: `/${label}` })));
  await expect.poll(() => bodies.length).toBe(2);
  bodies[0]?.();
  await expect.poll(() => there.size).toBe(1);
  tracks.letGo();
  bodies[1]?.();
  expect((await read).map(({ label }) => label)).toEqual(['one']);
  expect([...there]).toEqual([]);
});

it('lets go of those of a film when another one is shown', async () => {
  const { there, bodies, tracks } = open();
  const read = tracks.read([{ label: 'one', address: '/one' }]);
  await expect.poll(() => bodies.length).toBe(1);
  bodies[0]?.();
  await read;
  expect(there.size).toBe(1);
  await tracks.read([]);
  expect(there.size).toBe(0);
});
