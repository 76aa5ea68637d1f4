import { describe, expect, it } from 'vitest';
import { StoredKeys } from './stored-keys.ts';

describe('what is removed because it is old', () => {
  const none = async () => undefined;

  it('is not what is stored, or was, since it was looked at', async () => {
    const stored = new StoredKeys();
    await stored.storing('before', none);
    const running = Promise.withResolvers<void>();
    const storing = stored.storing('running', () => running.promise);
    using watch = stored.watch();
    await stored.storing('since', none);
    const removed: string[] = [];
    const remove = async (keys: readonly string[]) => void removed.push(...keys);
    expect(await watch.remove(['before', 'running', 'since', 'other'], remove)).toBe(2);
    expect(removed).toEqual(['before', 'other']);
    running.resolve();
    await storing;
    using next = stored.watch();
    expect(await next.remove(['running', 'since'], remove)).toBe(2);
  });

  it('is gone, or could not be removed, before something is stored in its place', async () => {
    const stored = new StoredKeys();
    for (const end of ['resolve', 'reject'] as const) {
      const removal = Promise.withResolvers<void>();
      const order: string[] = [];
      using watch = stored.watch();
      const removing = watch.remove(['key'], () => removal.promise.finally(() => order.push('removed'))).catch(() => 0);
      const storing = ['key', 'key', 'other'].map((key) => stored.storing(key, async () => void order.push(`stored ${key}`)));
      await storing[2];
      expect(order).toEqual(['stored other']);
      removal[end](new Error('the store') as never);
      await Promise.all([removing, ...storing]);
      expect(order).toEqual(['stored other', 'removed', 'stored key', 'stored key']);
    }
  });
});
