import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { GenericContainer, Network, type StartedTestContainer, Wait } from 'testcontainers';
import { type Images, prepareImages } from './images.ts';

const LABELS = { 'wharf.test': 'containers' };
const OWNED = 'uid=10001,gid=10001';

/** Our images one by one, on a network with a store and a bus. */
export interface ServiceContainers extends Pick<Images, 'docker'> {
  /** Starts the image of a service, over a database of this name; it is healthy then. */
  start(service: string, database: string, environment: Readonly<Record<string, string>>): Promise<StartedTestContainer>;
  /** Starts the source of downloads (source.mjs). @returns its address on the network */
  startSource(): Promise<string>;
  /** A container's address on the network, which this machine reaches. */
  addressOf(container: StartedTestContainer): string;
  /** The name of a service's container on the network. */
  nameOf(service: string): string;
  stop(): Promise<void>;
}

export async function startServiceContainers(): Promise<ServiceContainers> {
  const images = await prepareImages();
  const network = await new Network().start();
  const running: StartedTestContainer[] = [];
  // What an earlier file stopped may still have its name.
  const run = randomBytes(4).toString('hex');
  const nameOf = (what: string) => `wharf-test-${run}-${what}`;
  const container = (what: string, image: string) =>
    new GenericContainer(image).withName(nameOf(what)).withLabels(LABELS).withNetworkMode(network.getName()).withStartupTimeout(90_000);
  const begin = async (which: GenericContainer) => {
    const started = await which.start();
    running.push(started);
    return started;
  };
  const listens = Wait.forLogMessage(/Listening (for client connections|on TCP)/);
  await begin(
    container('store', images.store.image)
      .withEntrypoint([...images.store.command])
      .withWaitStrategy(listens),
  );
  await begin(container('bus', images.nats).withEntrypoint(['nats-server', '--addr', '0.0.0.0']).withWaitStrategy(listens));
  return {
    ...{ docker: images.docker, nameOf },
    start: (service, database, environment) =>
      begin(
        container(service, `wharf-${service}:test`)
          .withTmpFs({ '/tmp': '', '/data': `${OWNED},size=1g`, '/files': `${OWNED},size=256m` })
          .withEnvironment({
            ...{ MONGO_URL: `mongodb://${nameOf('store')}:27017/${database}`, NATS_URL: `nats://${nameOf('bus')}:4222` },
            ...{ WHARF_DRAIN_SECONDS: '0', WHARF_GRACE_SECONDS: '5', ...environment },
          })
          .withWaitStrategy(Wait.forHealthCheck()),
      ),
    async startSource() {
      const program = { source: join(import.meta.dirname, 'source.mjs'), target: '/source.mjs', mode: 'ro' } as const;
      await begin(container('source', images.base).withBindMounts([program]).withCommand(['node', '/source.mjs']));
      return `http://${nameOf('source')}:8000`;
    },
    addressOf: (started) => started.getIpAddress(network.getName()),
    async stop() {
      for (const each of running.toReversed()) await each.stop({ timeout: 0 });
      await network.stop();
    },
  };
}
