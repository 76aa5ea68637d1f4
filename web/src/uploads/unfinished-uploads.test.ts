import { afterAll, expect, it, vi } from 'vitest';

const stored = new Map<string, string>();
vi.stubGlobal('localStorage', {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem(key: string, value: string) {
    if (value.length > 1_000) throw new Error('QuotaExceededError');
    stored.set(key, value);
  },
});
vi.stubGlobal('addEventListener', () => undefined);
vi.stubGlobal('navigator', {});
const listed = (content: readonly object[]) =>
  vi.stubGlobal('fetch', async () => Response.json({ code: 200, message: 'success', data: { content, total: content.length } }));
const { rememberUpload, unfinishedUploads } = await import('./unfinished-uploads.ts');

afterAll(() => void vi.unstubAllGlobals());

it('of uploads that ran out nothing is remembered', async () => {
  stored.set('wharf.uploads', JSON.stringify({ over: 1, there: 2 }));
  rememberUpload('here', 3);
  listed([{ upload_id: 'there', path: '/a', size: 1, received_bytes: 0, chunk_size: 1 }]);
  expect(await unfinishedUploads()).toMatchObject([{ session: 'there', modifiedMs: 2 }]);
  expect(JSON.parse(stored.get('wharf.uploads') ?? '')).toEqual({ there: 2, here: 3 });
});

it('an upload goes on where the browser has no room to remember it', () => {
  expect(() => rememberUpload('s'.repeat(2_000), 1)).not.toThrow();
});
