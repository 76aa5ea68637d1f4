import { runCommand } from '@wharf/harness';
import { beforeAll, expect, test } from 'vitest';

const DOCKER = process.env['WHARF_TEST_CONTAINERS'] ?? 'docker';
const BASE = process.env['BASE'] ?? '';
const MB = 1_000_000;
/** What a registry sends for an image, and for one that has rclone. */
const [MOST, MOST_WITH_RCLONE] = [120 * MB, 160 * MB];
/** What our images put beside their base. */
const ADDED = 'cd / && tar -c wharf $(ls usr/local/bin/tini usr/local/bin/rclone 2>/dev/null)';

/** Bytes of what a command of the engine writes, compressed. */
async function compressed(...words: string[]): Promise<number> {
  const { stdout } = await runCommand('sh', ['-c', '"$@" | gzip | wc -c', 'sh', DOCKER, ...words], { withinMs: 120_000 });
  return Number(stdout);
}

let base: number;
beforeAll(async () => {
  base = await compressed('save', BASE);
}, 120_000);

test.each([
  ['wharf-auth', MOST],
  ['wharf-admin', MOST],
  ['wharf-downloader', MOST],
  ['wharf-api-gateway', MOST],
  ['wharf-fs', MOST_WITH_RCLONE],
  ['wharf', MOST_WITH_RCLONE],
])('the image %s has at most %i bytes compressed', { timeout: 120_000 }, async (image, most) => {
  const added = await compressed('run', '--rm', '--network', 'none', '--entrypoint', 'sh', `${image}:test`, '-c', ADDED);
  // What could not be read would be small.
  expect(Math.min(base, 10 * added)).toBeGreaterThan(50 * MB);
  expect(base + added).toBeLessThan(most);
});
