import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { localDriver } from './index.ts';

describeDriver({
  name: 'Local',
  open: async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'wharf-local-'));
    onTestFinished(async () => {
      const names = await readdir(root, { recursive: true });
      await rm(root, { recursive: true, force: true });
      expect(names.filter((name) => name.includes('.wharf-tmp'))).toEqual([]);
    });
    return localDriver.open(JSON.stringify({ root_folder_path: root, show_hidden: true }));
  },
});
