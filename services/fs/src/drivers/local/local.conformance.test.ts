import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { localDriver } from './index.ts';

describeDriver({
  name: 'Local',
  open: async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'wharf-local-'));
    onTestFinished(async () => {
      await rm(root, { recursive: true, force: true });
    });
    return {
      driver: await localDriver.open(JSON.stringify({ root_folder_path: root, show_hidden: true })),
      async seed(paths) {
        for (const file of paths) {
          await mkdir(path.join(root, path.dirname(file)), { recursive: true });
          await writeFile(path.join(root, file), '');
        }
      },
      leftovers: async () => (await readdir(root, { recursive: true })).filter((name) => name.includes('.wharf-tmp')),
    };
  },
});
