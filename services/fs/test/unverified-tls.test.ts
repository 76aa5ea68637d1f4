import { waitFor } from '@wharf/harness';
import { afterAll, expect, it } from 'vitest';
import { as, startFsProcess } from './fs-process.ts';
import { openInstallation } from './installation.ts';

const installation = await openInstallation();
afterAll(() => installation.close());

it('a storage that takes any certificate is named in the log with the item that says so, and without its secrets', async () => {
  await installation.login({ id: 1, permission: 0xffff });
  const addition = {
    address: 'https://127.0.0.1:1',
    username: 'keeper',
    password: 'canary-secret',
    root_folder_path: '/',
    tls_insecure_skip_verify: true,
  };
  await installation.writeStorage({ _id: 1, mount_path: '/lax', driver: 'WebDav', addition: JSON.stringify(addition) });
  const running = await startFsProcess(installation);
  const lines = () =>
    running
      .output()
      .split('\n')
      .filter((line) => line.includes('tls_insecure_skip_verify'));
  await waitFor('the line', async () => {
    await Array.fromAsync(running.fs.listDirectories({ path: '/lax', force_root: false }, as())).catch(() => undefined);
    return lines().length > 0;
  });
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
    level: 'warn',
    storage: '/lax',
    err: { message: expect.stringContaining('no certificate of its server is verified') },
  });
  expect(running.output()).not.toContain('canary-secret');
  await running.stop();
});
