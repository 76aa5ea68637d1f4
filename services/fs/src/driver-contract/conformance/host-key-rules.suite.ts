import { AppError } from '@wharf/errors';
import { expect, vi } from 'vitest';
import type { KeptItem } from '../kept-item.ts';
import type { StorageDriver } from '../storage-driver.ts';
import { put, textOf } from './driver-calls.ts';
import type { Able, HostKeyServer, Rule, StorageUnderTest } from './rule.suite.ts';
import { atEnd } from './rule-end.suite.ts';

/** A server of the rule's own. */
async function startedBy({ startKeyed }: StorageUnderTest): Promise<HostKeyServer> {
  if (!startKeyed) throw new Error('its servers show no key');
  return startKeyed();
}

/** What a storage keeps itself, as the service does for it, with all that was stored. */
function keptItem(value: string): KeptItem & { readonly stored: readonly string[] } {
  const stored: string[] = [];
  return {
    stored,
    get value() {
      return stored.at(-1) ?? value;
    },
    async replace(before, after) {
      if (this.value === before) stored.push(after);
      return this.value;
    },
  };
}

async function opened(server: HostKeyServer, kept: KeptItem): Promise<StorageDriver & Able<'write'>> {
  const driver = await server.open(kept);
  atEnd(() => driver.close());
  return driver as StorageDriver & Able<'write'>;
}

async function failureOf(call: Promise<unknown>): Promise<AppError> {
  return call.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => AppError.from(error),
  );
}

/** Of storages whose servers are known by a key of their own (SSH). */
export function hostKeyRules(rule: Rule): void {
  rule('the first key of a server is kept, and no other is asked for (C21)', ['write'], async (_driver, side) => {
    const server = await startedBy(side);
    const kept = keptItem('');
    const first = await opened(server, kept);
    expect(kept.stored).toEqual([expect.stringContaining(server.fingerprint())]);
    await put(first, '/file', 'x');
    await first.close();
    expect(await textOf(await opened(server, kept), '/file')).toBe('x');
    expect(kept.stored).toHaveLength(1);
  });
  rule('a server with another key is refused with both, and is told nothing secret (C21)', ['write'], async (_driver, side) => {
    const server = await startedBy(side);
    const kept = keptItem('');
    const open = await opened(server, kept);
    await put(open, '/file', 'x');
    await vi.waitFor(() => expect(server.logins()).toBeGreaterThan(0), { timeout: 10_000, interval: 20 });
    const before = server.fingerprint();
    await server.changeKey();
    for (const attempt of [() => textOf(open, '/file'), () => server.open(kept)]) {
      const { code, message } = await failureOf(attempt());
      expect(code).toBe('STORAGE_LOGIN_FAILED');
      for (const part of [before, server.fingerprint(), 'host_key']) expect(message).toContain(part);
      expect(message).not.toContain(server.secret);
    }
    expect(server.logins()).toBe(0);
    expect(kept.stored).toHaveLength(1);
    // What an admin enters in its place.
    const entered = keptItem(server.fingerprint());
    expect(await textOf(await opened(server, entered), '/file')).toBe('x');
    expect(entered.stored).toEqual([]);
  });
  rule('a key that could not be kept, or in whose place another was kept, lets nobody in (C21)', [], async (_driver, side) => {
    const server = await startedBy(side);
    const other = `ssh-ed25519 SHA256:${'A'.repeat(43)}`;
    const { code, message } = await failureOf(server.open({ value: '', replace: async () => other }));
    expect([code, message]).toEqual(['STORAGE_LOGIN_FAILED', expect.stringContaining(other)]);
    const refused = server.open({ value: '', replace: async () => Promise.reject(new Error('no store')) });
    await expect(refused).rejects.toThrow('no store');
    await vi.waitFor(async () => expect(await server.connections()).toBe(0), { timeout: 10_000, interval: 20 });
  });
}
