import tls from 'node:tls';
import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import type { RcdSource, Remote, RemoteWay } from './client.ts';
import type { RemoteSettings } from './config.ts';
import { openDavEmptiness, UNKNOWN_EMPTINESS } from './dav-emptiness.ts';
import type { RcloneSettings } from './driver.ts';
import { openFtpRelay } from './ftp-relay.ts';
import { keptToken } from './kept-token.ts';
import { checkAgainst } from './parameters.ts';
import type { Provider } from './providers.ts';
import { openRelay } from './relay.ts';
import { relayedWay, webWay } from './ways.ts';

const PORTS = { ssh: 22, ftp: 21 } as const;

/** A storage of any type that is allowed. */
export function rcloneStorage(settings: RemoteSettings): RcloneSettings {
  return {
    places: { root: settings.root.join('/'), space: undefined },
    rootPath: settings.rootPath,
    // rclone keeps it as another character in many types.
    refusedCharacters: '\u007f',
    ...(settings.allowed.hasDearHashes && { hasDearHashes: true }),
    ...(settings.allowed.followsLinks && { followsLinks: true }),
    ...(settings.allowed.removesUnlisted && {
      // Another rclone has a network of its own.
      openEmptiness: ({ egress }: OpenContext) => (settings.rcd ? UNKNOWN_EMPTINESS : openDavEmptiness(settings.parameters.values, egress)),
    }),
    openWay: (context) => openWay(settings, context),
    ...(settings.rcd && { source: ({ egress }: OpenContext) => externalRcd(settings.rcd as NonNullable<RemoteSettings['rcd']>, egress) }),
  };
}

function openWay({ type, allowed, parameters, rcd }: RemoteSettings, { egress, keptItem, warn }: OpenContext): RemoteWay {
  if (allowed.takesAnyKey) {
    const why =
      'any key of its server is taken: anybody on the way can read and change what passes; the driver SFTP holds a server to its key';
    warn(new AppError('FAILED_PRECONDITION', `the type ${type} of rclone: ${why}`));
  }
  const { values, servers } = parameters;
  const token = keptToken(keptItem('oauth_token'));
  const remoteOf = (changed: Readonly<Record<string, string>>): Remote => ({
    type,
    parameters: { ...allowed.usual, ...values, ...allowed.fixed, ...changed },
  });
  const checked = (providers: readonly Provider[]): Remote => {
    const text = token.text();
    const given = text === '' ? values : { ...values, token: text };
    checkAgainst(providers, type, given);
    return remoteOf(text === '' ? {} : { token: text });
  };
  // Another rclone has a network of its own.
  if (rcd) return { ...webWay(async () => undefined, checked), ...token.watch };
  if (allowed.way === 'web') {
    const check = async () => {
      for (const { host, port } of servers) (await egress.connect({ host, port })).destroy();
    };
    return { ...webWay(check, checked), ...token.watch };
  }
  const { host } = values;
  if (host === undefined) throw new AppError('INVALID_ARGUMENT', 'option host is missing');
  const port = Number(values['port'] ?? PORTS[allowed.way]);
  if (values['pass'] === undefined && values['key_pem'] === undefined) throw new AppError('INVALID_ARGUMENT', 'secret pass is missing');
  const connect = (signal: AbortSignal, place = { host, port }) => egress.connect({ ...place, signal });
  const way = relayedWay(
    () => (allowed.way === 'ftp' ? openFtpRelay(connect) : openRelay((signal) => connect(signal))),
    (at, atPort) => remoteOf({ host: at, port: atPort }),
  );
  return {
    ...way,
    // A getter is not copied.
    get failure() {
      return way.failure;
    },
    async remote(providers) {
      checkAgainst(await providers(), type, values);
      return way.remote(providers);
    },
  };
}

/** An rclone that somebody else runs. @throws AppError what the policy says of its address */
export function externalRcd({ url: text, username, password }: NonNullable<RemoteSettings['rcd']>, egress: Egress): RcdSource {
  const url = egress.parseUrl(text);
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port || (isTls ? 443 : 80));
  const process = {
    url: `${url.origin}${url.pathname.replace(/\/$/, '')}`,
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    ended: new AbortController().signal,
    kill: () => undefined,
  };
  return {
    hold: () => () => undefined,
    get: async () => process,
    async connect(signal) {
      const socket = await egress.connect({ host, port, signal });
      return isTls ? tls.connect({ socket, servername: host }) : socket;
    },
  };
}
