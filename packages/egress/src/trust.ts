import tls, { type SecureContext } from 'node:tls';

/**
 * What servers are verified by where an admin trusts one more certificate. Making it reads all public authorities, which takes milliseconds: once for
 * each storage, not for each connection.
 *
 * @param certificate PEM: of a server itself or of who signed it
 */
export function trustBeside(certificate: string): SecureContext {
  // One that somebody else signed is trusted by itself too.
  return tls.createSecureContext({ ca: [...tls.getCACertificates('default'), certificate], allowPartialTrustChain: true });
}
