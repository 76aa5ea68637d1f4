import { afterAll, expect, it, vi } from 'vitest';

const notify = vi.fn();
vi.doMock('../parts/notices.tsx', () => ({ notify }));
vi.resetModules();
const { droppedFiles } = await import('./dropped-files.ts');
afterAll(() => vi.doUnmock('../parts/notices.tsx'));

const fileOf = (name: string) => ({ isFile: true, name, file: (give: (file: File) => void) => give(new File(['x'], name)) });
const unreadable = (name: string) => ({
  isFile: true,
  name,
  file: (_: unknown, fail: (error: unknown) => void) => fail(new DOMException('no', 'NotReadableError')),
});
const folderOf = (name: string, children: readonly unknown[]) => ({
  ...{ isDirectory: true, name },
  createReader() {
    const left = [children, []];
    return { readEntries: (give: (some: unknown) => void) => give(left.shift()) };
  },
});

it('a file that cannot be read is told, and keeps none of the others back', async () => {
  const entries = [folderOf('trip', [fileOf('a.txt'), unreadable('locked.txt'), fileOf('b.txt')]), fileOf('c.txt')];
  const transfer = { items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })) } as unknown as DataTransfer;
  const found = await droppedFiles(transfer, '/local');
  expect(found.map(({ path }) => path)).toEqual(['/local/trip/a.txt', '/local/trip/b.txt', '/local/c.txt']);
  expect(notify).toHaveBeenCalledOnce();
  expect(notify.mock.lastCall?.[0]).toContain('locked.txt');
});
