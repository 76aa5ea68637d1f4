import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
/** They start our own code on our own Node, or rclone, with arguments that nobody from outside has a say in. */
const MAY_START_PROCESSES = ['services/fs/src/drivers/rclone/rcd-process.ts', 'services/fs/src/thumbnails/picture-maker.ts'];

function sources(): string[] {
  return ['services', 'packages'].flatMap((group) =>
    readdirSync(join(ROOT, group)).flatMap((member) => {
      const folder = join(group, member, 'src');
      const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
      return files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts')).map((file) => join(folder, file));
    }),
  );
}

test('C20: no command is run on anybody’s behalf: what starts processes is on a list, and nothing uses a shell', () => {
  const files = sources();
  expect(files.length).toBeGreaterThan(200);
  const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  expect(files.filter((file) => /['"](?:node:)?child_process['"]/.test(texts.get(file) ?? '')).sort()).toEqual(MAY_START_PROCESSES);
  expect(files.filter((file) => /\bshell:\s*true|\bexecSync\(|\bnew Function\(|\beval\(/.test(texts.get(file) ?? ''))).toEqual([]);
});
