import { generateSecret, generateSync, generateURI } from 'otplib';
import { STEP_S, type Totp } from '../domain/two-step.ts';

/** RFC 6238 as every authenticator knows it: SHA-1, six digits, steps of 30 s; secrets of 160 bits as RFC 4226 recommends. */
export const totp: Totp = {
  makeSecret: () => generateSecret({ length: 20 }),
  codeAt: (secret, step) => generateSync({ secret, epoch: step * STEP_S }),
  uri: (secret, username) => generateURI({ issuer: 'Wharf', label: username, secret }),
};
