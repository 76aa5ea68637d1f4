import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { wrongSetup } from './probe-folder.ts';
import { createWorkingTools } from './working-tools.ts';

it('a tool that did not work before the clock was set back is probed again, and not avoided until it shows the old time', async () => {
  let nowMs = 3_600_000;
  let probes = 0;
  const tools = createWorkingTools({
    settingsOf: async () => ({ tool: 'aria2', url: '', secret: '' }),
    probe: async () => {
      probes += 1;
      if (probes === 1) throw wrongSetup('it shares no folder');
    },
    clock: () => nowMs,
    logger: { warn: () => undefined } as never,
  });
  const { signal } = new AbortController();
  await expect(tools.require('aria2', signal)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(tools.notWorking()).toEqual(['aria2']);
  nowMs = 0;
  expect(tools.notWorking()).toEqual([]);
  await tools.require('aria2', signal);
  expect(probes).toBe(2);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
