import { readFile } from 'node:fs/promises';
import { programFlags } from '@wharf/harness';
import { expect, test } from 'vitest';

test('the images run Node with the flags of npm start', async () => {
  const dockerfile = await readFile(new URL('../../deploy/docker/Dockerfile', import.meta.url), 'utf8');
  const [, entryPoint = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entryPoint)).toEqual(['tini', '--', 'node', ...programFlags(), 'main.ts']);
});
