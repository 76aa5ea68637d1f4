import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { AppError } from '@wharf/errors';
import { openStoreFile } from '../storage/open-store-file.ts';
import type { StoreFile } from '../storage/store-file.ts';
import { Connection } from './connection.ts';
import { Engine } from './engine.ts';
import { type ListenOption, socketPathOf, socketUrl, tcpUrl } from './listen-address.ts';

const MAX_CONNECTIONS = 1000;
/** Time for the last answers to reach their clients. */
const END_TIMEOUT_MS = 1000;
/** Between two steps of removing what is due, in milliseconds: a step takes about as long. */
const NEXT_STEP_MS = 20;

export interface StoreServerOptions {
  readonly dataDir: string;
  readonly listen: ListenOption;
  readonly ttlIntervalMs: number;
  readonly maxDocuments: number;
  /** Names of collections that the last of them are kept for. */
  readonly keptFor: readonly string[];
  readonly copyAs: string | undefined;
}

export interface StoreServer {
  readonly url: string;
  /** Takes no more commands, answers those that came, and closes the file. */
  readonly stop: () => Promise<void>;
  /** Closes the file at once, for a thread that ends in an error: SQLite, in the ended thread, would remove the WAL and our mark would stay. */
  readonly abandon: () => void;
}

/**
 * The whole server: lock, file, engine, listener, reaper.
 *
 * @throws AppError FAILED_PRECONDITION | CONTENT_CORRUPT
 */
export async function startStoreServer(options: StoreServerOptions): Promise<StoreServer> {
  preparePrivateDirectory(options.dataDir);
  const file = openStoreFile(options.dataDir);
  try {
    if (options.copyAs !== undefined) file.copyAs(options.copyAs);
    return await serve(file, options);
  } catch (error) {
    file.close();
    throw error;
  }
}

async function serve(file: StoreFile, options: StoreServerOptions): Promise<StoreServer> {
  const connections = new Set<Connection>();
  const engine = openEngine(file, options, () => connections.size);
  let lastConnectionId = 0;
  const server = createServer((socket) => {
    const connection = new Connection(socket, engine, ++lastConnectionId);
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  });
  server.maxConnections = MAX_CONNECTIONS;
  const socketPath = options.listen === 'socket' ? socketPathOf(options.dataDir) : undefined;
  // A killed process has left it: the lock on the data directory is ours.
  if (socketPath !== undefined) rmSync(socketPath, { force: true });
  const url = await listen(server, options.listen, socketPath);
  const stopTidying = tidyNowAndThen(engine, options.ttlIntervalMs);
  return {
    url,
    stop: async () => {
      stopTidying();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      engine.drain();
      for (const connection of connections) connection.end();
      const impatience = setTimeout(() => {
        for (const connection of connections) connection.destroy();
      }, END_TIMEOUT_MS);
      await closed;
      clearTimeout(impatience);
      engine.drain();
      file.close();
      if (socketPath) rmSync(socketPath, { force: true });
    },
    abandon: () => file.abandon(),
  };
}

/** Those that are due at the same time go in several turns. @returns what ends it. @internal for its test */
export function tidyNowAndThen(engine: Pick<Engine, 'tidy'>, pauseMs: number): () => void {
  const tidy = () => {
    const isMore = engine.tidy();
    next = setTimeout(tidy, isMore ? NEXT_STEP_MS : pauseMs);
  };
  let next = setTimeout(tidy, pauseMs);
  return () => clearTimeout(next);
}

function openEngine(file: StoreFile, options: StoreServerOptions, openConnections: () => number): Engine {
  try {
    return new Engine(file, {
      maxDocuments: options.maxDocuments,
      keptFor: options.keptFor,
      openConnections,
      // The store has no logger of its own. Unforeseen errors go to the standard error of the process.
      onUnforeseen: (error) => console.error('embedded store:', error),
    });
  } catch (error) {
    throw new AppError('CONTENT_CORRUPT', `the store in ${options.dataDir} is damaged; restore it from a backup`, { cause: error });
  }
}

function preparePrivateDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    chmodSync(directory, 0o700);
  } catch (error) {
    throw new AppError('FAILED_PRECONDITION', `the data directory ${directory} cannot be used`, { cause: error });
  }
}

async function listen(server: Server, option: ListenOption, socketPath: string | undefined): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new AppError('FAILED_PRECONDITION', `the store cannot listen: ${error.message}`, { cause: error })),
    );
    if (socketPath !== undefined) server.listen(socketPath, resolve);
    else if (option !== 'socket') server.listen(option.port, option.host, resolve);
  });
  if (socketPath !== undefined) {
    // The directory is private already; the socket's own mode says the same.
    chmodSync(socketPath, 0o600);
    return socketUrl(socketPath);
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new AppError('INTERNAL', 'the store has no port');
  return tcpUrl(address.address, address.port);
}
