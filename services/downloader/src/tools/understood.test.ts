import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createAria2Tool } from './aria2/aria2-tool.ts';
import type { ExternalTool } from './external-tool.ts';
import { createQbittorrentTool } from './qbittorrent/qbittorrent-tool.ts';
import { createTransmissionTool } from './transmission/transmission-tool.ts';

const version = async () => '1';
const TOOLS: Readonly<Record<string, (answer: unknown) => ExternalTool>> = {
  aria2: (answer) => createAria2Tool({ call: async () => answer, version }, { url: 'http://127.0.0.1:1', username: 'u', password: 'p' }),
  qBittorrent: (answer) => createQbittorrentTool({ get: async () => JSON.stringify(answer) ?? 'no JSON', post: async () => '', version }),
  Transmission: (answer) => createTransmissionTool({ call: async () => Object(answer), version }),
};
const answers = [undefined, null, 'word', { not: 'a list' }, [7], [{ hash: 1 }], { torrents: [{}] }, { status: '__proto__' }];

it.each(Object.keys(TOOLS).flatMap((name) => answers.map((answer) => [name, answer] as const)))(
  '%s that answers %j is not understood, which is no error of ours',
  async (name, answer) => {
    const failed = await TOOLS[name]?.(answer)
      .find('a', '/d', new AbortController().signal)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(AppError.is(failed, 'CONTENT_CORRUPT')).toBe(true);
    expect(failed).toMatchObject({ message: `${name} gave an answer that is not understood` });
  },
);
