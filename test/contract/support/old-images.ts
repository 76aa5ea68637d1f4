import { join } from 'node:path';
import { makeTempDir, runCommand, runToEnd } from '@wharf/harness';
import { imageOf } from './images.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const BUILD_WITHIN_MS = 900_000;
const BUILT = ['api-gateway', 'auth', 'admin', 'fs', 'downloader'];

/** Images of an earlier version. */
export interface OldImages {
  readonly commit: string;
  /** The image of a service of Compose, such as `gateway-1`. */
  of(service: string): string;
}

/**
 * The images of an earlier version of this repository, built by that version's own means unless they are there.
 *
 * @param wanted a commit; left out: the last release, or before the first one the commit that renewed the baseline of the contracts
 * @throws when the history is not there, or the images cannot be built
 */
export async function buildOldImages(wanted: string | undefined, engine: { docker: string; base: string }): Promise<OldImages> {
  const git = async (...words: string[]) => (await runToEnd('git', ['-C', ROOT, ...words])).trim();
  const lastRelease = async () => (await git('tag', '--list', 'v*', '--sort=-v:refname', '--merged')).split('\n')[0];
  const lastBaseline = () => git('log', '--format=%H', '-1', '--', 'proto/baseline.binpb');
  const commit = await git('rev-parse', '--verify', `${wanted || (await lastRelease()) || (await lastBaseline())}^{commit}`);
  const tag = `old-${commit.slice(0, 12)}`;
  const images: OldImages = { commit, of: (service) => imageOf(service, tag) };
  const isThere = async (service: string) => (await runCommand(engine.docker, ['image', 'inspect', images.of(service)])).code === 0;
  if ((await Promise.all(BUILT.map(isThere))).every(Boolean)) return images;
  const dir = await makeTempDir('old');
  try {
    await runToEnd('sh', ['-c', 'git -C "$1" archive "$2" | tar -x -C "$3"', 'sh', ROOT, commit, dir.path]);
    const env = { ...process.env, DOCKER: engine.docker, BASE: engine.base, TAG: tag };
    const { code, stderr } = await runCommand(join(dir.path, 'deploy/docker/build'), BUILT, { env, withinMs: BUILD_WITHIN_MS });
    if (code !== 0) throw new Error(`the images of ${commit} cannot be built: ${stderr.trim().slice(-2_000)}`);
  } finally {
    await dir.remove();
  }
  return images;
}
