import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
const PROGRAM = `
  import { closeSync, openSync } from 'node:fs';
  import { createPictureMaker } from ${from('../src/thumbnails/picture-maker.ts')};
  import { pngOf } from ${from('../src/thumbnails/testing/pictures.ts')};
  const maker = createPictureMaker();
  const png = pngOf(300, 300);
  const held = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {}
  const refused = await Promise.all([1, 2, 3, 4].map(() => maker.make(png).then(() => 'made', ({ code }) => code)));
  for (const handle of held) closeSync(handle);
  const made = await maker.make(png).then(() => 'made', ({ code }) => code);
  maker.close();
  process.stdout.write(JSON.stringify({ refused, made }));
`;

it('where no file handle is left for the process of a picture, it is refused, and those that wait too (C18)', () => {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROGRAM];
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], { encoding: 'utf8' });
  expect(stdout, stderr).not.toBe('');
  expect(JSON.parse(stdout)).toEqual({ refused: Array(4).fill('OVERLOADED'), made: 'made' });
});
