// `deploy/kubernetes/try-node build`: makes the images of the services and of what they need, for a node that reaches no registry, and writes them into one file.
//   usage: node tools/run.mjs exec node test/contract/src/node-images.ts FILE TAG
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type ContainerEngine, startContainerEngine } from '@wharf/harness';
import { prepareImages, present } from '../support/images.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SERVICES = ['api-gateway', 'auth', 'admin', 'fs', 'downloader'];

const [file, tag] = process.argv.slice(2);
if (file === undefined || tag === undefined) throw new Error('usage: node-images.ts FILE TAG');
const engine = present(await startContainerEngine());
try {
  await saveImages(engine, file, tag);
} finally {
  await engine.stop();
}

async function saveImages({ docker }: ContainerEngine, into: string, version: string): Promise<void> {
  const { base, store, nats } = await prepareImages();
  run('deploy/docker/build', SERVICES, '', { DOCKER: docker, BASE: base, TAG: version });
  const build = (name: string, lines: readonly string[]) =>
    run(docker, ['build', '-q', '-t', `${name}:${version}`, '-'], lines.join('\n'), { DOCKER_BUILDKIT: '1' });
  // As the user that the manifests name for the store.
  build('wharf-node-store', [
    `FROM ${store.image}`,
    'USER root',
    'RUN usermod -o -u 999 postgres',
    'USER postgres',
    `ENTRYPOINT ${JSON.stringify(store.command)}`,
  ]);
  build('wharf-node-nats', [`FROM ${nats}`]);
  // Holds the network of a pod; what ends the pod ends it at once.
  build('wharf-node-pause', [`FROM wharf-auth:${version}`, 'HEALTHCHECK NONE', 'ENTRYPOINT ["tini", "--", "sleep", "infinity"]']);
  const images = [...SERVICES, 'node-store', 'node-nats', 'node-pause'].map((name) => `wharf-${name}:${version}`);
  run(docker, ['save', '-o', into, ...images]);
  // The file has them; what they were built of stays for the next time.
  run(docker, ['rmi', ...images]);
}

/** @throws Error when it ends otherwise than well; what it says goes to our own output */
function run(command: string, args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): void {
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    input,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw error ?? new Error(`${command} ${args[0] ?? ''} ended with ${status}`);
}
