export { followStoreClock } from './agreed-clock.ts';
export type { Bus, OnBusError, Subject } from './bus/bus.ts';
export { createBusErrors } from './bus/bus-errors.ts';
export { createLocalBus } from './bus/local-bus.ts';
export { createNatsBus } from './bus/nats-bus.ts';
export { type ChangeAnnouncer, createChangeAnnouncer } from './change-announcer.ts';
export {
  type ConfigDefinition,
  ConfigError,
  type ConfigKey,
  type ConfigOf,
  commonKeys,
  configKey,
  egressKeys,
  peerKeys,
  readConfig,
  schemas,
  taskKeys,
} from './config/config.ts';
export { edgeKeys } from './config/edge-keys.ts';
export { Secret } from './config/secret.ts';
export { deriveKeys, type Keys, keyedDigest, seal, unseal } from './crypto/keys.ts';
export { requireOwnSecret } from './crypto/require-own-secret.ts';
export { type DataDir, noteOfBackup, openDataDir } from './data-dir.ts';
export { prepareStore } from './data-version.ts';
export { clientOf, createTrustedProxies, type TrustedProxies } from './http/client-address.ts';
export { type Cors, createCors, preflightDownload } from './http/cors.ts';
export { endWhenIdle } from './http/end-when-idle.ts';
export { beginJson, type Envelope, type EnvelopeCodes, failureEnvelope, successEnvelope } from './http/envelope.ts';
export { ERROR_NAME_HEADER, nameError } from './http/error-name.ts';
export { onceClosed } from './http/once-closed.ts';
export { partCodes } from './http/part-codes.ts';
export { plainAddress } from './http/plain-address.ts';
export { createPrivacyMask, type PrivacyMask } from './http/privacy-mask.ts';
export { requestIdOf } from './http/request-id.ts';
export { sayWhenToComeAgain } from './http/retry-after.ts';
export { siteUrlOf } from './http/site-url.ts';
export { createTransferLimit, isUser, shareKeyOf, type TransferLimit } from './http/transfer-limit.ts';
export { isTusPath, TUS_PATH, tusStatus } from './http/tus.ts';
export { type AccountReads, type AccountUser, type Caller, type Callers, createCallers, equalTexts } from './identity/callers.ts';
export {
  createInternalTokens,
  forPeople,
  type Identity,
  type InternalTokens,
  type ServiceIdentity,
  type UserIdentity,
} from './identity/identity.ts';
export { createLoginsOfNow, type LoginOfNow } from './identity/login-of-now.ts';
export { createLoginTokens, type LoginClaims, type LoginTokens } from './identity/login-tokens.ts';
export { KEPT_FOR } from './kept-for.ts';
export type { ConnectionShare } from './ops/connection-share.ts';
export { type HttpListener, listenHttp } from './ops/http-listener.ts';
export { identify } from './ops/identified-response.ts';
export type { Logger } from './ops/logger.ts';
export { METRICS, type MetricDeclaration } from './ops/metric-catalogue.ts';
export { counter, gauge, histogram, processMetrics } from './ops/metrics.ts';
export type { OpenCalls } from './ops/open-calls.ts';
export { opsHandler } from './ops/ops-server.ts';
export type { Readiness } from './ops/readiness.ts';
export { createRevisionedCache, type RevisionedCache } from './revisioned-cache.ts';
export { createBehindOthers } from './rpc/behind-others.ts';
export { type Call, incomingCall, outgoingCall, type Revisions, userOf } from './rpc/call.ts';
export { type ByteServer, callHeaders, dropCallHeaders, readCallHeaders } from './rpc/call-headers.ts';
export { createDirectClient } from './rpc/direct-client.ts';
export { HOPS_HEADER, hopsOf, INSTALLATION_HEADER, MAX_HOPS, parseHops, refusalOfHops, trailOf, withHops } from './rpc/hops.ts';
export { hasLongText, LONG_TEXT_LETTERS, takeLongTurn } from './rpc/long-texts.ts';
export { createOneByOne, type OneByOne } from './rpc/one-by-one.ts';
export type { Peers } from './rpc/peers.ts';
export {
  defineRpcService,
  forAdmins,
  forAnyone,
  forServices,
  forUsers,
  type Guarded,
  notImplemented,
  type RpcDefinition,
  type RpcService,
} from './rpc/service.ts';
export { runProcess, runService, type Service } from './run-service.ts';
export { createServiceKit, kitFor, type ServiceKit } from './service-kit.ts';
export { connectStore, type StoreConnection } from './store.ts';
export { foreseen, isStoreFull } from './store-outage.ts';
export { createStoreRoom } from './store-room.ts';
export { inSpan, NO_TRACING, type OpenSpan, streamInSpan, type Tracing, traceHeaders, traceparentOf } from './telemetry/tracing.ts';
export { within } from './within.ts';
export { replaceFile } from './write-once.ts';
