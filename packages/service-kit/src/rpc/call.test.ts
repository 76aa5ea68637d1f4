import { Metadata } from 'nice-grpc-common';
import { describe, expect, it } from 'vitest';
import { Secret } from '../config/secret.ts';
import { deriveKeys } from '../crypto/keys.ts';
import { createInternalTokens } from '../identity/identity.ts';
import { incomingCall, outgoingCall } from './call.ts';
import { readCallHeaders } from './call-headers.ts';

const keys = (secret: string) => deriveKeys(new Secret(secret));
const tokens = createInternalTokens(keys('the secret of this installation!').internal, Date.now);
const strangers = createInternalTokens(keys('a secret of somebody else, yes..').internal, Date.now);
const signal = new AbortController().signal;
const gateway = { kind: 'service', name: 'api-gateway' } as const;
const said = { requestId: 'r', revisions: { auth: 7, admin: 9 }, address: '203.0.113.1', agent: 'ein Spieler/ü 1.0' };

describe('what a call says of itself', () => {
  it('is believed of our own processes', () => {
    const { metadata } = outgoingCall(tokens, { identity: gateway, ...said });
    expect(incomingCall(tokens, { metadata: Metadata(metadata), signal })).toMatchObject({ identity: gateway, ...said });
  });

  it('is not believed without their proof', () => {
    const { metadata } = outgoingCall(tokens, { identity: undefined, ...said });
    const call = incomingCall(tokens, { metadata: Metadata(metadata), signal });
    expect(call).toMatchObject({ identity: undefined, revisions: { auth: 0, admin: 0 } });
    expect(call).not.toHaveProperty('address');
    expect(call).not.toHaveProperty('agent');
  });

  it('is refused with the proof of another installation', () => {
    const { metadata } = outgoingCall(strangers, { identity: gateway, ...said });
    expect(() => incomingCall(tokens, { metadata: Metadata(metadata), signal })).toThrow();
  });

  it('does not make a client of the data plane a gateway', () => {
    const headers = { 'wharf-site-url': 'https://evil.example', 'wharf-admin-revision': '9007199254740991', 'wharf-client-address': '::1' };
    expect(readCallHeaders(tokens, headers, signal)).toBeUndefined();
  });
});
