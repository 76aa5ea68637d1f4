import type { Storage as WireStorage } from '@wharf/proto/admin';
import type { Storage } from '../domain/storage.ts';

export function toWireStorage({ version: _version, modified, ...storage }: Storage): WireStorage {
  return { ...storage, modified: modified.toISOString() };
}
