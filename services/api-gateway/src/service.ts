import {
  accountReads,
  accountsChanged,
  configurationChanged,
  modelsOf,
  readAdminRevision,
  readSettingsRecord,
  settingsFrom,
} from '@wharf/models';
import {
  type ByteServer,
  createCallers,
  createCors,
  createLoginTokens,
  createPrivacyMask,
  createRevisionedCache,
  createTransferLimit,
  createTrustedProxies,
  type Service,
  type ServiceKit,
  unseal,
} from '@wharf/service-kit';
import { createTaskFeed } from '@wharf/task-engine';
import type { GatewayConfig } from './config.ts';
import { createKnownRevisions } from './domain/known-revisions.ts';
import { createApp } from './http/app.ts';
import { createByteHandler, createRemoteDataPlane } from './http/byte-handler.ts';
import { createCallLimit } from './http/call-limit.ts';
import type { GatewayParts } from './http/gateway-parts.ts';
import { createHeldBytes, createMadeBytes } from './http/held-bytes.ts';
import { createRefusedConnections } from './http/refused-connections.ts';
import { createRequestScopes } from './http/request-scopes.ts';
import { createTaskEvents } from './http/task-events.ts';

/** What the gateway itself takes from the configuration; the rest is for its process. */
type GatewayOptions = Pick<GatewayConfig, 'siteUrl' | 'trustedProxies' | 'corsOrigins' | 'callsPerUser' | 'connectionsPerAddress'> &
  Partial<Pick<GatewayConfig, 'fsDataUrl' | 'webDir'>>;

/**
 * The HTTP face of Wharf.
 *
 * @param options.bytes the data plane of fs where it is in the same process; else requests for bytes are passed on to `config.fsDataUrl`,
 * `maxTransfers` of them at a time; who takes nothing of a download for `downloadIdleMs` is cut off. `maxHeldBytes`: what bodies and answers hold together;
 * `maxMadeBytes`: what is made of bodies.
 */
export function createGatewayService(
  config: GatewayOptions,
  kit: ServiceKit,
  options: {
    bytes?: ByteServer;
    maxTransfers?: number;
    downloadIdleMs?: number;
    maxHeldBytes?: number | undefined;
    maxMadeBytes?: number | undefined;
  } = {},
): Service {
  const { clock, openCalls } = kit;
  const models = modelsOf(kit.store);
  const callers = createCallers({
    tokens: createLoginTokens(kit.keys.jwt, clock),
    reads: accountReads(models, {
      unseal: (sealed) => unseal(kit.keys.atRest, sealed),
      clock,
      onUse(id) {
        const onError = (error: unknown) => kit.logger.warn({ err: error }, 'the use of a login was not noted');
        kit.peers.auth.noteSessionUse({ id }, kit.ownCall()).catch(onError);
      },
    }),
    clock,
  });
  const settingsCache = createRevisionedCache({
    clock,
    readRevision: () => readAdminRevision(models),
    load: () => readSettingsRecord(models),
    make: (record) => settingsFrom(record),
  });
  const revisions = createKnownRevisions((owner) => {
    if (owner === 'auth') callers.invalidate();
  });
  const settings = () => settingsCache.getKept(revisions.current().admin);
  const privacyMask = createPrivacyMask();
  const proxies = createTrustedProxies(config.trustedProxies);

  const parts: GatewayParts = {
    kit,
    peers: revisions.watch(kit.peers),
    revisions,
    callers,
    proxies,
    scopes: createRequestScopes(kit, proxies),
    cors: createCors(config.corsOrigins),
    held: createHeldBytes(options.maxHeldBytes, openCalls.isShort),
    made: createMadeBytes(options.maxMadeBytes, openCalls.isShort),
    calls: createCallLimit(config.callsPerUser, openCalls),
    siteUrl: config.siteUrl,
    webDir: config.webDir,
    settings,
    async mask(message) {
      // An error must be answered also while the store is away. Then the factory's patterns are used.
      const current = await settings().catch(() => settingsFrom(undefined));
      return privacyMask(current.text('privacy_regs'), message);
    },
  };
  const remote =
    config.fsDataUrl === undefined
      ? undefined
      : createRemoteDataPlane(
          parts,
          config.fsDataUrl,
          createTransferLimit(options.maxTransfers, openCalls.isShort),
          options.downloadIdleMs,
        );
  const dataPlane = options.bytes ?? remote?.serve;
  if (!dataPlane) throw new Error('the gateway needs a data plane: bytes, or fsDataUrl');

  const feed = createTaskFeed({
    owners: ['fs', 'downloader'],
    store: kit.store,
    bus: kit.bus,
    onError: (error) => kit.logger.warn({ err: error }, 'changes of tasks could not be read'),
  });
  const isStopping = () => kit.readiness.missing().includes('stopping');

  kit.bus.subscribe(accountsChanged, (event) => void callers.hear(event));
  kit.bus.subscribe(configurationChanged, () => settingsCache.invalidate());

  return {
    connectionShare: {
      perAddress: config.connectionsPerAddress,
      isProxy: proxies.isProxy,
      onRefused: createRefusedConnections(kit.logger, clock),
    },
    http: createApp(parts, createByteHandler(parts, dataPlane), createTaskEvents(parts, feed, isStopping)),
    async start() {
      await settings();
    },
    async stop() {
      feed.close();
      remote?.close();
    },
  };
}
