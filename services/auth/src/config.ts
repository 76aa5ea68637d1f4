import { type ConfigOf, commonKeys, configKey, peerKeys, readConfig, Secret, schemas } from '@wharf/service-kit';
import { z } from 'zod';
import { MAX_PASSWORD_BYTES } from './domain/passwords.ts';

const DEFAULT_TOKEN_HOURS = 48;
/** Ten years. With one more zero by mistake the result is still a valid date. */
const MAX_TOKEN_HOURS = 87_600;

export const authConfig = {
  ...commonKeys,
  ...peerKeys,
  grpcPort: configKey('WHARF_GRPC_PORT', schemas.port(50_051), 'Port for the calls of other services.'),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9_091), 'Port of /healthz, /readyz and /metrics.'),
  adminPassword: configKey(
    'WHARF_ADMIN_PASSWORD',
    z
      .string()
      .refine((text) => Buffer.byteLength(text) <= MAX_PASSWORD_BYTES, `must not be longer than ${MAX_PASSWORD_BYTES} bytes`)
      .transform((text) => new Secret(text))
      .optional(),
    'Password of `admin`, used at the first start only. Without it a random one is printed once.',
    { mayBeInFile: true },
  ),
  tokenHours: configKey(
    'WHARF_TOKEN_HOURS',
    z.coerce
      .number('must be a number of hours')
      .int('must be whole hours')
      .min(1, 'must be at least 1')
      .max(MAX_TOKEN_HOURS, `must be at most ${MAX_TOKEN_HOURS}`)
      .default(DEFAULT_TOKEN_HOURS),
    'Validity of a login, in hours.',
  ),
};

export type AuthConfig = ConfigOf<typeof authConfig>;

export const readAuthConfig = (): AuthConfig => readConfig(authConfig, process.env);
