import { expect, it, vi } from 'vitest';
import { sendBody } from './send-body.ts';

it('sends nothing that was ended before it began', async () => {
  const begun = vi.fn();
  vi.stubGlobal('XMLHttpRequest', begun);
  const left = new AbortController();
  left.abort(new Error('paused'));
  await expect(sendBody('/', {}, new ArrayBuffer(1), { signal: left.signal, onProgress() {} })).rejects.toThrow('paused');
  expect(begun).not.toHaveBeenCalled();
  vi.unstubAllGlobals();
});
