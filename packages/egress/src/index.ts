export type { Answer } from './asked-request.ts';
export { type Audience, createEgressPolicy, type EgressOptions, type EgressPolicy, type Endpoint, portOf } from './egress-policy.ts';
export { endpointsOf } from './endpoints.ts';
export { createGuardedClient, type GuardedClient, type GuardedRequest } from './guarded-client.ts';
export { type GuardedProxy, startGuardedProxy } from './guarded-proxy.ts';
