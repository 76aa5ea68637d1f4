import type { MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { LastSeenEntries } from './last-seen-entries.ts';

it('so many entries are kept, of all storages together, the last ones', () => {
  const seen = { text: 'a/b', packed: new Float64Array(1) };
  const storages = Array.from({ length: 30 }, () => new LastSeenEntries());
  const made = storages.map((storage) => storage.entriesOf('/d' as MountPath, seen, () => Array.from({ length: 10_000 })));
  const kept = storages.filter((storage, index) => storage.entriesOf('/d' as MountPath, seen, () => []) === made[index]);
  expect(kept.length).toBeLessThanOrEqual(6);
  expect(kept.length).toBeGreaterThan(0);
});
