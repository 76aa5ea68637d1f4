export type { Answer, RequestBody } from './asked-request.ts';
export { type BulkConnections, createBulkConnections } from './bulk-connections.ts';
export { createEgress, type Egress } from './egress.ts';
export { type Audience, createEgressPolicy, type EgressOptions, type EgressPolicy, type Endpoint, portOf } from './egress-policy.ts';
export { type OwnAddresses, ownEndpoints } from './endpoints.ts';
export { createGuardedClient, type GuardedClient, type GuardedRequest } from './guarded-client.ts';
export { type GuardedProxy, startGuardedProxy } from './guarded-proxy.ts';
