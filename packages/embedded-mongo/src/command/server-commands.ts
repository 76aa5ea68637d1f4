import { hostname } from 'node:os';
import { Long } from 'bson';
import { MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { STORE_COPY } from '../server/store-copy.ts';
import { MAX_MESSAGE_BYTES } from '../server/wire.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext, Handler } from './handler.ts';
import type { Reply } from './reply.ts';
import { commandFields, type Request } from './request.ts';
import { MAX_WRITE_BATCH } from './write-commands.ts';

/** The MongoDB release whose documented behaviour the store follows, and the wire version that release speaks. */
const VERSION = '7.0.0';
const MAX_WIRE_VERSION = 21;

const HELLO_FIELDS = [
  'helloOk',
  'client',
  'compression',
  'saslSupportedMechs',
  'topologyVersion',
  'maxAwaitTimeMS',
  'loadBalanced',
  'hello',
  'backpressure',
];

export const SERVER_COMMANDS: Readonly<Record<string, Handler>> = {
  hello: { kind: 'read', run: hello },
  isMaster: { kind: 'read', run: hello },
  ismaster: { kind: 'read', run: hello },
  ping: { kind: 'read', run: ping },
  buildInfo: { kind: 'read', run: buildInfo },
  buildinfo: { kind: 'read', run: buildInfo },
  endSessions: { kind: 'read', run: ping },
  getParameter: { kind: 'read', run: getParameter },
  connectionStatus: { kind: 'read', run: connectionStatus },
  serverStatus: { kind: 'read', run: serverStatus },
  copyStore: { kind: 'alone', run: copyStore },
};

/** The only command that is not one of MongoDB's. Its copy has one name, so that callers choose no path. */
function copyStore(request: Request, { copyAs }: CommandContext): Reply {
  commandFields(request, []);
  copyAs(STORE_COPY.name);
  return { fields: {} };
}

function hello(request: Request, { now, connectionId }: CommandContext): Reply {
  commandFields(request, HELLO_FIELDS);
  return {
    fields: {
      helloOk: true,
      // The primary of a standalone is the server itself; the older name is what the older handshake asks for.
      ...(request.name === 'hello' ? { isWritablePrimary: true } : { ismaster: true }),
      maxBsonObjectSize: MAX_DOCUMENT_BYTES,
      maxMessageSizeBytes: MAX_MESSAGE_BYTES,
      maxWriteBatchSize: MAX_WRITE_BATCH,
      localTime: now(),
      logicalSessionTimeoutMinutes: 30,
      connectionId,
      minWireVersion: 0,
      maxWireVersion: MAX_WIRE_VERSION,
      readOnly: false,
    },
  };
}

function ping(): Reply {
  return { fields: {} };
}

function buildInfo(_request: Request, { catalog }: CommandContext): Reply {
  return {
    fields: {
      version: VERSION,
      versionArray: [7, 0, 0, 0],
      gitVersion: 'wharf-embedded',
      modules: [],
      storageEngines: ['sqlite'],
      bits: 64,
      debug: false,
      maxBsonObjectSize: MAX_DOCUMENT_BYTES,
      // Not one of MongoDB's: who fills the store knows by it where to end.
      maxDocuments: catalog.maxDocuments,
    },
  };
}

function getParameter(request: Request): Reply {
  const fields = commandFields(request, ['featureCompatibilityVersion']);
  if (!fields.has('featureCompatibilityVersion')) throw new CommandError('InvalidOptions', 'no option found to get');
  return { fields: { featureCompatibilityVersion: { version: '7.0' } } };
}

function connectionStatus(request: Request): Reply {
  commandFields(request, ['showPrivileges']);
  return { fields: { authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] } } };
}

function serverStatus(_request: Request, { now, openConnections, catalog }: CommandContext): Reply {
  const scans = catalog.all().flatMap(({ namespace, scans }) => [...scans].map(([fields, times]) => ({ ns: namespace, fields, times })));
  return {
    fields: {
      host: hostname(),
      version: VERSION,
      process: 'wharf-embedded-mongo',
      pid: Long.fromNumber(process.pid),
      uptime: Math.floor(process.uptime()),
      localTime: now(),
      connections: { current: openConnections() },
      storageEngine: { name: 'sqlite' },
      metrics: {
        queryExecutor: {
          scannedObjects: Long.fromNumber(catalog.all().reduce((sum, { scanned }) => sum + scanned, 0)),
          collectionScans: { total: Long.fromNumber(scans.reduce((sum, { times }) => sum + times, 0)) },
        },
      },
      // Not one of MongoDB's: what a collection was asked for that no index of it narrows down.
      scans: scans.map(({ times, ...scan }) => ({ ...scan, times: Long.fromNumber(times) })),
    },
  };
}
