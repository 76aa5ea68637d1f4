import type { OpenContext } from '../../driver-contract/open-context.ts';
import type { GatewayClient, Session } from './client.ts';
import type { SameApiSettings } from './config.ts';

/** By name and password, by the token that was entered, or as the guest. The token that a login gives is one for all replicas. */
export function openSession({ login }: SameApiSettings, client: GatewayClient, context: OpenContext): Session {
  if (login) {
    return context.credential({
      item: 'token',
      secret: JSON.stringify(login),
      async renew(_secret, options) {
        const token = await client.login(login.username, login.password, options);
        return { token, expiresAt: endOf(token) };
      },
    });
  }
  const entered = context.keptItem('token');
  return { use: (call) => call(entered.value === '' ? undefined : entered.value) };
}

/** Before its end another one is asked for, in milliseconds: what it is sent with has to arrive. */
const SPARE_MS = 5_000;

/** When a token ends, where it is one that tells (RFC 7519, section 4.1.4). */
function endOf(token: string): Date | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const end: unknown = typeof claims === 'object' && claims !== null ? Reflect.get(claims, 'exp') : undefined;
    return typeof end === 'number' && end > 0 ? new Date(end * 1000 - SPARE_MS) : undefined;
  } catch {
    return undefined;
  }
}
