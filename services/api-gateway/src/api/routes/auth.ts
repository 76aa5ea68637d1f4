import { z } from 'zod';
import { requiredText, text } from '../fields.ts';
import { absentRoute, nothing, publicRoute, type Route, route } from '../route.ts';
import { nothingBack } from '../shapes.ts';

const loginInput = z.object({ username: requiredText(), password: text(), otp_code: text() });
const tokenShape = z.object({ token: z.string() });

const NO_SSO = { methods: 'any', access: 'public', envelopeCode: 403, message: 'Single sign-on is not enabled' } as const;
const NO_PASSKEYS = { methods: 'any', access: 'public', envelopeCode: 403, message: 'WebAuthn is not enabled' } as const;

export const authRoutes: readonly Route[] = [
  publicRoute({
    methods: ['POST'],
    path: '/api/auth/login',
    summary: 'Logs in with a name and a password.',
    takes: 'body',
    input: loginInput,
    answer: tokenShape,
    call: async ({ peers, ownCall, address, userAgent }, input) => {
      const { token } = await peers.auth.login({ ...input, address, user_agent: userAgent }, ownCall());
      return { token };
    },
  }),
  publicRoute({
    methods: ['POST'],
    path: '/api/auth/login/hash',
    summary: 'Logs in with a name and the static hash of a password.',
    takes: 'body',
    input: loginInput,
    answer: tokenShape,
    call: async ({ peers, ownCall, address, userAgent }, input) => {
      const { token } = await peers.auth.loginWithHash({ ...input, address, user_agent: userAgent }, ownCall());
      return { token };
    },
  }),
  route({
    methods: ['GET'],
    path: '/api/auth/logout',
    access: 'guest',
    summary: 'Ends the session of the token.',
    takes: 'query',
    input: nothing,
    answer: nothingBack,
    call: async ({ peers, options }) => {
      await peers.auth.logout({}, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/auth/2fa/generate',
    access: 'guest',
    summary: 'Makes a secret for two-step verification; it waits ten minutes to be verified.',
    takes: 'query',
    input: nothing,
    answer: z.object({ qr: z.string(), secret: z.string() }),
    call: ({ peers, options }) => peers.auth.generateOtp({}, options),
  }),
  route({
    methods: ['POST'],
    path: '/api/auth/2fa/verify',
    access: 'guest',
    summary:
      'Switches two-step verification on with the secret that was made and a code that fits it. Where it is on, `otp_code` takes a code of the present secret, or a recovery code.',
    takes: 'body',
    input: z.object({ code: requiredText(), secret: requiredText(), otp_code: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.verifyOtp(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/auth/2fa/recovery_codes',
    access: 'guest',
    summary: "Makes the caller's recovery codes anew, for a code that fits; each logs in once in the place of one. Shown this once.",
    takes: 'body',
    input: z.object({ code: requiredText() }),
    answer: z.object({ codes: z.array(z.string()) }),
    call: async ({ peers, options }, input) => {
      const { codes } = await peers.auth.generateRecoveryCodes(input, options);
      return { codes };
    },
  }),
  absentRoute({ methods: 'any', path: '/api/auth/login/ldap', access: 'public', envelopeCode: 403, message: 'ldap is not enabled' }),
  absentRoute({ ...NO_SSO, path: '/api/auth/sso' }),
  absentRoute({ ...NO_SSO, path: '/api/auth/sso_callback' }),
  absentRoute({ ...NO_SSO, path: '/api/auth/get_sso_id' }),
  absentRoute({ ...NO_SSO, path: '/api/auth/sso_get_token' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/webauthn_begin_login' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/webauthn_finish_login' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/webauthn_begin_registration' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/webauthn_finish_registration' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/delete_authn' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/rename_authn' }),
  absentRoute({ ...NO_PASSKEYS, path: '/api/authn/getcredentials' }),
];
