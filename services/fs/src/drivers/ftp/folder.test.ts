import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createListingRoom } from '../../driver-contract/listing-room.ts';
import type { FtpSession } from './client.ts';
import { KeptEntries, readFolder } from './folder.ts';
import { nameCodec } from './name-codec.ts';
import type { FtpSettings } from './settings.ts';

it('a listing whose lines come thousands at once leaves others their turns', async () => {
  const lines = Array.from({ length: 30_000 }, (_, index) => `a=; ${index}\r\n`);
  const socket = Object.assign(Readable.from([Buffer.from(lines.join(''))]), { setTimeout: () => undefined });
  const session = { features: { mlst: true }, silentMs: 1_000, transfer: async () => ({ socket, finish: async () => undefined }) };
  let [kept, most, inThisTurn] = [0, 0, 0];
  const count = {
    add() {
      if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
      inThisTurn += 1;
      kept += 1;
      most = Math.max(most, inThisTurn);
    },
    leave: () => undefined,
  };
  const settings = { listsInside: false, names: nameCodec('utf-8') } as unknown as FtpSettings;
  await readFolder(session as unknown as FtpSession, settings, '/', new AbortController().signal, () => count);
  expect(kept).toBe(30_000);
  expect(most).toBeLessThan(15_000);
});

describe('by TLS', () => {
  /** Lists a folder that has so many entries each time that it is listed, in a room of so many bytes. */
  const namesOf = async (counts: readonly number[], roomFor = 20_000 * 120) => {
    let listed = 0;
    const transfer = async () => {
      const lines = Array.from({ length: counts[listed] ?? 0 }, (_, index) => `type=file;size=1; ${String(index).padStart(5, '0')}\r\n`);
      listed += 1;
      return {
        socket: Object.assign(Readable.from([Buffer.from(lines.join(''))]), { setTimeout: () => undefined }),
        finish: async () => undefined,
      };
    };
    const session = { features: { mlst: true }, silentMs: 1_000, transfer } as unknown as FtpSession;
    const settings = { tls: {}, listsInside: false, names: nameCodec('utf-8') } as unknown as FtpSettings;
    const room = createListingRoom(roomFor);
    const kept = await readFolder(session, settings, '/', new AbortController().signal, () => new KeptEntries(room));
    const names = [...kept.drain()].length;
    room.enter().take(roomFor);
    return [names, listed];
  };

  it('a folder that takes more than half of the room for listings is listed all the same, and leaves the room', async () => {
    expect(await namesOf([15_000, 15_000])).toEqual([15_000, 2]);
    expect(await namesOf([10_000, 15_000, 15_000])).toEqual([15_000, 3]);
  });

  it('of several lengths that a folder has the longest counts, of a long folder the last that was kept', async () => {
    expect(await namesOf([2, 1, 2])).toEqual([2, 3]);
    expect(await namesOf([5, 4, 3, 2, 1])).toEqual([5, 5]);
    expect(await namesOf([1, 2, 3, 4, 5])).toEqual([5, 5]);
    expect(await namesOf([1, 3, 2, 1, 2])).toEqual([3, 5]);
    expect(await namesOf([11_001, 11_003, 11_002, 11_001, 11_002])).toEqual([11_002, 5]);
  });
});
