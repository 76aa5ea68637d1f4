import type { Settings } from '@wharf/models';
import type { Callers, Cors, Peers, ServiceKit, TrustedProxies } from '@wharf/service-kit';
import type { KnownRevisions } from '../domain/known-revisions.ts';
import type { CallLimit } from './call-limit.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { RequestScopes } from './request-scopes.ts';

/** What the handlers of the gateway share. */
export interface GatewayParts {
  readonly kit: Pick<ServiceKit, 'name' | 'keys' | 'logger' | 'tokens' | 'tracing'>;
  /** Peers whose revisions are noted. */
  readonly peers: Peers;
  readonly revisions: KnownRevisions;
  readonly callers: Callers;
  readonly proxies: TrustedProxies;
  readonly scopes: RequestScopes;
  readonly cors: Cors;
  readonly held: HeldBytes;
  /** What is made of bodies while their calls go on. */
  readonly made: HeldBytes;
  readonly calls: CallLimit;
  /** WHARF_SITE_URL. */
  readonly siteUrl: string | undefined;
  /** WHARF_WEB_DIR. */
  readonly webDir: string | undefined;
  /** At least as new as the last write that went through this gateway. @throws what reading the store throws */
  readonly settings: () => Promise<Settings>;
  /** Blackens what the setting `privacy_regs` wants hidden. */
  readonly mask: (message: string) => Promise<string>;
}
