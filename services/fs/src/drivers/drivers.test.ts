import { fileURLToPath } from 'node:url';
import { runCommand } from '@wharf/harness';
import { expect, it } from 'vitest';

/** What the storages of a kind are made with, by the names of their packages. */
const HEAVY = ['ssh2', 'libsodium-wrappers', 'base32768', 'aws4', 'saxes', 'iconv-lite'];

it('libraries of protocols are not loaded before a storage needs them', async () => {
  const index = fileURLToPath(new URL('./index.ts', import.meta.url));
  const hooks = `import { registerHooks } from 'node:module';
    const seen = [];
    registerHooks({ resolve(name, context, next) { seen.push(name); return next(name, context); } });
    await import(${JSON.stringify(index)});
    console.log(JSON.stringify(seen));`;
  const { stdout } = await runCommand(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', hooks]);
  const seen: string[] = JSON.parse(stdout);
  expect(seen).toContain('zod');
  expect(seen.filter((name) => HEAVY.some((heavy) => name === heavy || name.startsWith(`${heavy}/`)))).toEqual([]);
});
