import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { FtpSession } from './client.ts';
import { readFolder } from './folder.ts';
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
