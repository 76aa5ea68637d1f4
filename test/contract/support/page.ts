import { httpRequest } from '@wharf/harness';
import { expect } from 'vitest';

/** Fails unless the built page is there, with the program that it loads. */
export async function expectPage(base: string): Promise<void> {
  const page = await httpRequest(base, { path: '/', headers: { accept: 'text/html' } });
  expect(page.status).toBe(200);
  const [, script = ''] = /<script[^>]* src="(\/assets\/[^"]+\.js)"/.exec(page.text()) ?? [];
  const program = await httpRequest(base, { path: script });
  expect({ script, status: program.status, type: program.headers['content-type'] }).toEqual({
    ...{ script: expect.stringMatching(/^\/assets\//), status: 200, type: expect.stringMatching(/javascript/) },
  });
}
