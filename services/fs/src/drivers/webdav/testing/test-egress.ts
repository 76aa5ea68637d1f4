import { createEgress, createEgressPolicy, type Egress } from '@wharf/egress';

/** Where tests go: loopback. */
export function testEgress(): Egress {
  return createEgress(createEgressPolicy({ allow: ['127.0.0.0/8'], forbidden: [], audience: 'admin' }));
}
