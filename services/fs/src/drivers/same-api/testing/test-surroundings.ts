import { randomBytes } from 'node:crypto';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { trailOf } from '@wharf/service-kit';

/** What a gateway is opened with in tests: they go to loopback, as an installation of their own. */
export function testSurroundings() {
  const egress = createEgress(createEgressPolicy({ allow: ['127.0.0.0/8'], forbidden: [], audience: 'admin' }));
  return { egress, trail: trailOf(randomBytes(16).toString('hex')) };
}
