import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createChangeAnnouncer } from './change-announcer.ts';

it('an event says what it is about only where no change before it waits to be counted', async () => {
  let isAway = true;
  let revision = 0;
  const told: unknown[] = [];
  const announcer = createChangeAnnouncer<string>({
    nextRevision: async () => {
      if (isAway) throw new AppError('STORAGE_UNAVAILABLE', 'away');
      revision += 1;
      return revision;
    },
    publish: async (_, about) => void told.push(about),
    onError: () => undefined,
  });
  await expect(announcer.announce()).rejects.toThrow('away');
  isAway = false;
  await announcer.announce('a session');
  await announcer.announce('another');
  announcer.stop();
  expect(told).toEqual([undefined, 'another']);
});
