import { expect, it, vi } from 'vitest';

const asked: unknown[] = [];
const answer = Promise.withResolvers<undefined>();
vi.mock('../api/call.ts', () => ({
  call(path: string, body: unknown) {
    asked.push([path, body]);
    return answer.promise;
  },
}));
vi.mock('../parts/notices.tsx', () => ({ notify: () => undefined }));
vi.mock('../router.ts', () => ({ openFile: () => undefined, openFolder: () => undefined }));
vi.mock('../uploads/send-bytes.ts', () => ({ encodePath: String, putText: () => answer.promise }));
vi.mock('../i18n/i18n.ts', () => ({ t: String }));
vi.mock('./explain.ts', () => ({ explain: String }));
const { createChanges } = await import('./changes.ts');

it('an entry gets its new name in the folder that its field was opened in, though another one is shown by then', async () => {
  let folder = '/a/b';
  const chosen: string[][] = [];
  const listing = { refresh: async () => undefined };
  const selection = { choose: (names: string[]) => void chosen.push(names) };
  const changes = createChanges({ folder: () => folder, listing, selection, setClipboard: () => undefined } as never);
  const inside = folder;
  folder = '/a';
  const left = changes.rename(inside, 'notes', 'old notes');
  const shown = changes.rename(folder, 'x', 'y');
  answer.resolve(undefined);
  expect(await Promise.all([left, shown])).toEqual([true, true]);
  expect(asked).toEqual([
    ['/api/fs/rename', { path: '/a/b/notes', name: 'old notes' }],
    ['/api/fs/rename', { path: '/a/x', name: 'y' }],
  ]);
  expect(chosen).toEqual([['y']]);
});
