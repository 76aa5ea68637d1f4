import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import { freeWhole } from '../../driver-contract/batches.ts';
import { boundNames } from '../../driver-contract/bound-names.ts';
import { EntryMap } from '../../driver-contract/entry-map.ts';
import { type ListingRoom, type ListingShare, listedBytes } from '../../driver-contract/listing-room.ts';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { endWhenSilent, type FtpSession } from './client.ts';
import { isRefusal } from './errors.ts';
import { parseFacts, parseListLine, type RemoteEntry } from './listing.ts';
import type { FtpSettings } from './settings.ts';

/** The largest folder in use has less; a line of one entry too. */
const MAX_LISTING_BYTES = 96 * 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;
/** A listing of no more is kept beside another one: of that size they do not count in the room for listings. */
const MAX_BYTES_BESIDE = 256 * 1024;
/** So often a folder is listed at most. */
const MAX_LISTINGS = 5;

/** Keeps what somebody wants of a folder. */
export interface Kept {
  /** An entry that is in it; one name may come twice. */
  add(entry: RemoteEntry): void;
  /** It is of no use any more. */
  leave(): void;
}

/** All entries of a folder, each name once, in the room of the storage. */
export class KeptEntries implements Kept {
  readonly #entries = new EntryMap();
  readonly #share: ListingShare;

  constructor(room: ListingRoom) {
    this.#share = room.enter();
  }

  add({ name, kind, sizeBytes, modifiedMs }: RemoteEntry): void {
    const entry: Entry = {
      name: name as EntryName,
      isDirectory: kind === 'folder',
      sizeBytes,
      modifiedAt: new Date(modifiedMs),
      ...(kind !== 'folder' && kind !== 'file' && { isLink: true }),
    };
    if (this.#entries.has(entry.name)) return;
    this.#share.take(listedBytes(entry));
    this.#entries.set(entry);
  }

  has(name: string): boolean {
    return this.#entries.has(name as EntryName);
  }

  /** They may have any name. What is no link is a file or a folder. */
  values(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** The same for the last time. Who takes them counts them now. */
  drain(): Iterable<Entry> {
    this.#share.leave();
    return this.#entries.drain();
  }

  leave(): void {
    this.#share.leave();
    this.#entries.free();
  }
}

/**
 * Reads what is in a folder, as far as names of ours lead to it. The whole listing is taken before it is answered: the session serves nobody else
 * meanwhile.
 *
 * @param begin makes what keeps it, for each time that the folder is listed; all but the one that is answered are left
 * @throws RefusedReply; AppError UNSUPPORTED_OPERATION: there is too much; what `add` throws
 */
export async function readFolder<Keeper extends Kept>(
  session: FtpSession,
  settings: FtpSettings,
  place: string,
  signal: AbortSignal,
  begin: () => Keeper,
): Promise<Keeper> {
  const list = session.features.mlst ? await byFacts(session, settings, place, signal) : await byLines(session, settings, place, signal);
  let held = await list(begin);
  if (!settings.tls) return held.kept;
  // Servers send lines as records of TLS, so a listing that is cut off may end with a whole line, and Node does not tell that end from the right one: it
  // counts once it came twice. Of a folder that changes all the time the longest does, of a long one the last that was kept.
  let longest = held.bytes;
  const again = async <Other extends Kept>(beginOther: () => Other): Promise<Listed<Other>> => {
    try {
      return await list(beginOther);
    } catch (error) {
      held.kept.leave();
      throw error;
    }
  };
  for (let tries = 1; tries < MAX_LISTINGS; tries += 1) {
    let bytes: number;
    if (held.bytes <= MAX_BYTES_BESIDE) {
      const other = await again(begin);
      bytes = other.bytes;
      const [longer, shorter] = bytes > held.bytes ? [other, held] : [held, other];
      shorter.kept.leave();
      held = longer;
    } else if (held.bytes === longest) {
      // Two that are kept at a time would take twice the room.
      bytes = (await again(() => NOTHING_KEPT)).bytes;
    } else {
      // The one that was longer is kept the next time.
      held.kept.leave();
      held = await list(begin);
      bytes = held.bytes;
    }
    if (bytes === longest) break;
    longest = Math.max(longest, bytes);
  }
  return held.kept;
}

/** What is listed to see how long it is. */
const NOTHING_KEPT: Kept = { add: () => undefined, leave: () => undefined };

interface Listed<Keeper> {
  readonly kept: Keeper;
  readonly bytes: number;
}

type List = <Keeper extends Kept>(begin: () => Keeper) => Promise<Listed<Keeper>>;

async function byFacts(session: FtpSession, settings: FtpSettings, place: string, signal: AbortSignal): Promise<List> {
  if (settings.listsInside) await session.ask('CWD', place);
  const parse = (line: string) => parseFacts(line, settings.names);
  return (begin) => collect(session, 'MLSD', settings.listsInside ? undefined : place, signal, parse, begin());
}

/** Behind LIST servers look for options and patterns, so no name is said there. */
async function byLines(session: FtpSession, settings: FtpSettings, place: string, signal: AbortSignal): Promise<List> {
  await session.ask('CWD', place);
  const now = Date.now();
  const parse = (line: string) => parseListLine(line, settings.names, now);
  return async (begin) => {
    try {
      return await collect(session, 'LIST', '-a', signal, parse, begin());
    } catch (error) {
      if (!isRefusal(error) || session.isEnded) throw error;
      return collect(session, 'LIST', undefined, signal, parse, begin());
    }
  };
}

async function collect<Keeper extends Kept>(
  session: FtpSession,
  verb: string,
  argument: string | undefined,
  signal: AbortSignal,
  parse: (line: string) => RemoteEntry | undefined,
  kept: Keeper,
): Promise<Listed<Keeper>> {
  const { socket, finish } = await session.transfer(verb, argument, signal);
  const onAbort = () => socket.destroy(storageError('CANCELLED'));
  signal.addEventListener('abort', onAbort, { once: true });
  const count = boundNames();
  const pace = createPace(signal);
  let bytes = 0;
  let rest = '';
  try {
    if (signal.aborted) onAbort();
    endWhenSilent(socket, session.silentMs);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      const lines = (rest + chunk.toString('latin1')).split('\n');
      freeWhole(chunk);
      rest = lines.pop() ?? '';
      if (bytes > MAX_LISTING_BYTES || rest.length > MAX_LINE_BYTES) throw new AppError('UNSUPPORTED_OPERATION', 'the listing has no end');
      for (const line of lines) {
        count(1);
        const entry = parse(line.replace(/\r$/, ''));
        if (entry) kept.add(entry);
        // A chunk may have thousands.
        await pace.step();
      }
    }
    // The end of the connection is all that tells the end of the listing.
    if (rest !== '') throw storageError('STORAGE_UNAVAILABLE', new Error('the listing is cut off'));
    await finish();
    return { kept, bytes };
  } catch (error) {
    kept.leave();
    throw isRefusal(error) || AppError.is(error) ? error : storageError('STORAGE_UNAVAILABLE', error);
  } finally {
    socket.destroy();
    signal.removeEventListener('abort', onAbort);
  }
}
