import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { followStoreClock } from './agreed-clock.ts';
import { createBusErrors } from './bus/bus-errors.ts';
import { createLocalBus } from './bus/local-bus.ts';
import { createNatsBus } from './bus/nats-bus.ts';
import { ConfigError } from './config/config.ts';
import type { Secret } from './config/secret.ts';
import { requireOwnSecret } from './crypto/require-own-secret.ts';
import { prepareStore } from './data-version.ts';
import { collectWhenIdle } from './ops/collect-when-idle.ts';
import type { ConnectionShare } from './ops/connection-share.ts';
import { listenHttp } from './ops/http-listener.ts';
import { createLogger, type Logger } from './ops/logger.ts';
import { opsHandler } from './ops/ops-server.ts';
import type { RpcService } from './rpc/service.ts';
import { createServiceKit, type ServiceKit } from './service-kit.ts';
import { startProblem } from './start-problem.ts';
import { connectStore } from './store.ts';
import { openTracing } from './telemetry/open-tracing.ts';
import { NO_TRACING, type Tracing } from './telemetry/tracing.ts';

/** A running part of Wharf: what it serves, and how it begins and ends. */
export interface Service {
  readonly rpc?: RpcService;
  /** What it serves beside that, on the same port. */
  readonly furtherRpcs?: readonly RpcService[];
  /** A public HTTP port: the gateway, or the data plane of fs. */
  readonly http?: RequestListener;
  /** What one client may have of that port; undefined where only our own processes come. */
  readonly connectionShare?: ConnectionShare;
  /** Makes indexes, loads what is needed to answer. Called once, before anything listens. */
  start(): Promise<void>;
  /** Called as soon as the process is told to stop: work that others can do is left to them. Calls and transfers are still served. */
  drain?(): Promise<void>;
  /** Called after the listeners have stopped and before the bus and the store close. Safe twice. */
  stop(): Promise<void>;
}

/** What every service's configuration has; ports that a service does not have are absent. */
export interface ProcessConfig {
  readonly secret: Secret;
  readonly mongoUrl: string | undefined;
  readonly natsUrl: string | undefined;
  readonly bind: string;
  readonly logLevel: string;
  readonly drainSeconds: number;
  readonly graceSeconds: number;
  readonly otlpEndpoint: string | undefined;
  readonly authAddress: string;
  readonly adminAddress: string;
  readonly fsAddress: string;
  readonly downloaderAddress: string;
  readonly sharedStreams: boolean;
  readonly opsPort: number;
  readonly grpcPort?: number;
  readonly httpHost?: string;
  readonly httpPort?: number;
}

/** How long an ordered stop may take where nothing else is configured, in milliseconds: under the ten seconds that are promised. */
const STOP_LIMIT_MS = 9_500;
/** What of that is for closing: workers, bus and store. The rest is for those who are served. */
const CLOSING_MS = 4_500;

/**
 * Runs one service as a process: reads the configuration, opens store and bus, starts the service and its listeners, and stops them in
 * order on SIGTERM or SIGINT. Ends the process with 2 when the configuration cannot be used, with 1 when it cannot start.
 *
 * Told to stop, it is no longer ready and leaves its tasks to others at once. It listens for `drainSeconds` more, for those who do not know yet,
 * and then lets calls and transfers under way end until `graceSeconds` have passed since it was told.
 */
export async function runService<Config extends ProcessConfig>(options: {
  name: string;
  readConfig: () => Config;
  create: (config: Config, kit: ServiceKit) => Service;
}): Promise<void> {
  const start: Start<Config> = async (config, logger, tracing) => {
    if (config.mongoUrl === undefined)
      throw new ConfigError(['MONGO_URL: a service on its own needs a store. `npm run services` brings one.']);
    const store = await connectStore(config.mongoUrl);
    await prepareStore(store);
    await requireOwnSecret(store, config.secret);
    const clock = await followStoreClock(store, logger);
    const onBusError = createBusErrors(logger, Date.now);
    const bus = config.natsUrl === undefined ? createLocalBus(onBusError) : createNatsBus(config.natsUrl, options.name, onBusError);
    // Only a process of its own needs gRPC; it takes a while to load.
    const { createGrpcPeers, startGrpcServer } = await import('./grpc.ts');
    const onBroken = (status: unknown, calls: number) => logger.warn({ err: status, calls }, 'a shared stream broke, and calls on it');
    const grpcPeers = createGrpcPeers(config, { tracing, onBroken: config.sharedStreams ? onBroken : undefined });
    const opened = { logger, secret: config.secret, store, bus, tracing, clock: clock.now };
    const kit = createServiceKit({ name: options.name, ...opened, peers: () => grpcPeers.peers });
    const service = options.create(config, kit);
    await service.start();

    const onUnforeseen = (error: unknown, method: string) => logger.error({ err: error, method }, 'unforeseen error');
    const isReady = () => kit.readiness.missing().length === 0;
    const grpc =
      service.rpc && config.grpcPort !== undefined
        ? await startGrpcServer({
            services: [service.rpc, ...(service.furtherRpcs ?? [])],
            host: config.bind,
            port: config.grpcPort,
            tokens: kit.tokens,
            tracing,
            isReady,
            openCalls: kit.openCalls,
            onUnforeseen,
          })
        : undefined;
    const http =
      service.http && config.httpPort !== undefined
        ? await listenHttp(service.http, config.httpHost ?? config.bind, config.httpPort, { share: service.connectionShare })
        : undefined;
    const ops = await listenHttp(opsHandler(kit.readiness, kit.metrics), config.bind, config.opsPort);
    logger.info({ url: http?.url, grpcPort: grpc?.port, opsPort: ops.port }, 'listening');
    // `tools/services.ts` waits for this before it starts the next one.
    process.send?.('listening');
    return async (isFailing) => {
      const { listenMs, servingMs } = stopTimes(config, isFailing);
      kit.readiness.drain();
      http?.drain();
      const left = service.drain?.().catch((error) => logger.warn({ err: error }, 'work could not be left to others'));
      await delay(listenMs);
      await Promise.all([left, http?.stop(servingMs), grpc?.stop(servingMs)]);
      await service.stop();
      grpcPeers.close();
      await bus.close();
      clock.stop();
      await store.close();
      await ops.stop(0);
    };
  };
  await runProcess(options.name, options.readConfig, start, (config) => config.graceSeconds * 1000);
}

/** How long a process that stops goes on listening, and how long it serves after that, in milliseconds. One that fails does not wait for callers. */
function stopTimes(config: Pick<ProcessConfig, 'drainSeconds' | 'graceSeconds'>, isFailing: boolean) {
  const openMs = Math.max(0, config.graceSeconds * 1000 - CLOSING_MS);
  const listenMs = isFailing ? 0 : Math.min(config.drainSeconds * 1000, openMs);
  return { listenMs, servingMs: isFailing ? Math.min(openMs, STOP_LIMIT_MS - CLOSING_MS) : openMs - listenMs };
}

/**
 * Opens everything and answers how to close it again; `isFailing`: because of an error that nobody caught. Undefined: there was one thing to do, it
 * is done, and the process ends.
 */
type Start<Config> = (config: Config, logger: Logger, tracing: Tracing) => Promise<((isFailing: boolean) => Promise<void>) | undefined>;

/**
 * The frame of every process: configuration errors are printed whole, signals end it in order and once, and what nobody caught is logged
 * before it ends with 1.
 *
 * @param stopWithinMs how long closing may take; after that the process ends with 1.
 */
export async function runProcess<Config extends { readonly logLevel: string; readonly otlpEndpoint: string | undefined }>(
  name: string,
  readConfig: () => Config,
  start: Start<Config>,
  stopWithinMs: (config: Config) => number = () => STOP_LIMIT_MS,
): Promise<void> {
  let isEnding = false;
  let stop: ((isFailing: boolean) => Promise<void>) | undefined;
  let limitMs = STOP_LIMIT_MS;
  let logger: Logger | undefined;
  let tracing = NO_TRACING;
  const end = async (code: number) => {
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), limitMs).unref();
    try {
      await stop?.(code !== 0);
      await tracing.close();
      process.exit(code);
    } catch (error) {
      logger?.error({ err: error }, 'stopping failed');
      process.exit(1);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(0));
  // A supervisor that started us with an IPC channel and is gone needs us no more.
  process.once('disconnect', () => void end(0));
  loseUnwritten();
  process.on('uncaughtException', (error) => {
    logger?.fatal({ err: error }, 'uncaught');
    void end(1);
  });

  try {
    const config = readConfig();
    logger = createLogger(name, config.logLevel, config.otlpEndpoint === undefined ? undefined : () => tracing.logIds());
    limitMs = stopWithinMs(config);
    tracing = await openTracing(name, config.otlpEndpoint, logger);
    stop = await start(config, logger, tracing);
    if (stop === undefined) return void end(0);
    collectWhenIdle();
  } catch (error) {
    if (error instanceof ConfigError) {
      console.error(`${name}: ${error.message}`);
      process.exit(2);
    }
    const problem = startProblem(error);
    if (problem !== undefined) console.error(`${name}: ${problem}`);
    else if (logger) logger.fatal({ err: error }, 'cannot start');
    else console.error(error);
    process.exit(1);
  }
}

/** Standard error may be a file on a disk that is full: what threads and Node print there is lost then, and nothing ends over it. */
function loseUnwritten(): void {
  process.stderr.on('error', () => undefined);
}
