import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { httpRequest, waitFor } from '@wharf/harness';
import { expect, it } from 'vitest';
import { headersAs, startFsProcess } from './fs-process.ts';
import { openInstallation, USER } from './installation.ts';

it('C16: an upload as a task, without the password of a guarded file, replaces none that appears before it is stored', async () => {
  const installation = await openInstallation();
  const root = `${installation.dir}/root`;
  await mkdir(root);
  await installation.login({ id: USER.id, permission: USER.permission });
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: root }) });
  await installation.writeRule({ path: '/l', password: 'pw', p_sub: true });
  const process = await startFsProcess(installation, `${installation.dir}/data`);
  /** Bodies that are taken in, without the name of the area and those of tasks that failed. */
  const kept = new Set(['id']);
  const waiting = async () => (await readdir(`${installation.dir}/data/uploads`)).filter((each) => !kept.has(each));
  const store = async (name: string, password: string) => {
    async function* body() {
      yield Buffer.from('ne');
      // Once what comes is taken in, everything that is asked before the first byte was asked.
      await waitFor('the first bytes', async () => (await waiting()).length > 0);
      await writeFile(`${root}/${name}`, 'old');
      yield Buffer.from('w');
    }
    const headers = { ...headersAs(USER), 'file-path': `/l/${name}`, 'as-task': 'true', password };
    const answer = await httpRequest(process.url, { method: 'PUT', path: '/api/fs/put', headers, body: body() });
    const { id } = (answer.json() as { data: { task: { id: string } } }).data.task;
    await waitFor('the end of the task', async () => [2, 7].includes((await process.task('upload', id)).state));
    return [(await process.task('upload', id)).error, await readFile(`${root}/${name}`, 'utf8')];
  };
  try {
    expect(await store('blind', '')).toEqual(['password is incorrect or you have no permission', 'old']);
    for (const each of await waiting()) kept.add(each);
    expect(await store('knowing', 'pw')).toEqual(['', 'new']);
  } finally {
    await process.stop();
    await installation.close();
  }
});
