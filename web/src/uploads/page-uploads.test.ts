import { createRoot } from 'solid-js';
import { afterAll, expect, it, vi } from 'vitest';

const sent = vi.fn(() => new Promise<never>(() => undefined));
vi.doMock('../session.ts', () => ({ isGuest: () => true, settings: {} }));
vi.doMock('./send-file.ts', () => ({ createSendFile: () => sent }));
vi.stubGlobal('addEventListener', () => undefined);
vi.stubGlobal('removeEventListener', () => undefined);
vi.resetModules();
const { createPageUploads } = await import('./page-uploads.ts');
afterAll(() => {
  vi.doUnmock('../session.ts');
  vi.doUnmock('./send-file.ts');
  vi.unstubAllGlobals();
});

it('what was dropped is not sent once the page is no longer of whoever dropped it', () => {
  const files = [{ file: new File(['x'], 'a'), path: '/a' }];
  createRoot((leave) => {
    const uploads = createPageUploads(() => undefined);
    uploads.add(files);
    leave();
    uploads.add(files);
  });
  expect(sent).toHaveBeenCalledOnce();
});
