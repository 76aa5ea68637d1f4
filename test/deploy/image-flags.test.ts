import { readFile } from 'node:fs/promises';
import { programFlags } from '@wharf/harness';
import { expect, test } from 'vitest';

const DOCKERFILE = await readFile(new URL('../../deploy/docker/Dockerfile', import.meta.url), 'utf8');

test('the images run Node with the flags of npm start', async () => {
  const [, entryPoint = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(DOCKERFILE) ?? [];
  expect(JSON.parse(entryPoint)).toEqual(['tini', '--', 'node', ...programFlags(), 'main.ts']);
});

test.each([
  ['standalone', true],
  ['fs', true],
  ['downloader', false],
  ['api-gateway', false],
  ['auth', false],
  ['admin', false],
] as const)('the image of %s is told of a data folder: %s', (service, isTold) => {
  const stages = DOCKERFILE.split(/^FROM /m);
  expect(stages.at(-1)?.trim()).toMatch(/^service-\$\{SERVICE\}$/);
  const [common, own] = ['service', `service-${service}`].map((name) =>
    stages.find((stage) => stage.split('\n')[0]?.endsWith(` AS ${name}`)),
  );
  expect([common?.includes('WHARF_DATA_DIR'), own?.includes('WHARF_DATA_DIR=/data')]).toEqual([false, isTold]);
});
