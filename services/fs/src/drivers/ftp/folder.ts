import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { boundNames } from '../../driver-contract/bound-names.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { FtpSession } from './client.ts';
import { isRefusal } from './errors.ts';
import { parseFacts, parseListLine, type RemoteEntry } from './listing.ts';
import type { FtpSettings } from './settings.ts';

/** The largest folder in use has less; a line of one entry too. */
const MAX_LISTING_BYTES = 96 * 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;
/** So often a folder is listed at most. */
const MAX_LISTINGS = 4;

/**
 * What is in a folder, as far as names of ours lead to it, each name once. The whole listing is taken before it is answered: the session serves
 * nobody else meanwhile.
 *
 * @throws RefusedReply; AppError UNSUPPORTED_OPERATION: there is too much
 */
export async function readFolder(session: FtpSession, settings: FtpSettings, place: string, signal: AbortSignal): Promise<RemoteEntry[]> {
  if (session.features.mlst) {
    if (settings.listsInside) await session.ask('CWD', place);
    const parse = (line: string) => parseFacts(line, settings.names);
    return (await collect(session, 'MLSD', settings.listsInside ? undefined : place, signal, parse)).entries;
  }
  // Behind LIST servers look for options and patterns, so no name is said there.
  await session.ask('CWD', place);
  const now = Date.now();
  const parse = (line: string) => parseListLine(line, settings.names, now);
  const list = async () => {
    try {
      return await collect(session, 'LIST', '-a', signal, parse);
    } catch (error) {
      if (!isRefusal(error) || session.isEnded) throw error;
      return collect(session, 'LIST', undefined, signal, parse);
    }
  };
  let longest = await list();
  if (!settings.tls) return longest.entries;
  // Such servers send each line as a record of TLS, so a listing that is cut off ends with a whole line, and Node does not tell that end from the right
  // one: it counts once it came twice. Of a folder that changes all the time the longest does.
  for (let tries = 1; tries < MAX_LISTINGS; tries += 1) {
    const again = await list();
    if (again.bytes === longest.bytes) return again.entries;
    if (again.bytes > longest.bytes) longest = again;
  }
  return longest.entries;
}

async function collect(
  session: FtpSession,
  verb: string,
  argument: string | undefined,
  signal: AbortSignal,
  parse: (line: string) => RemoteEntry | undefined,
): Promise<{ entries: RemoteEntry[]; bytes: number }> {
  const { socket, finish } = await session.transfer(verb, argument, signal);
  const onAbort = () => socket.destroy(storageError('CANCELLED'));
  signal.addEventListener('abort', onAbort, { once: true });
  const entries = new Map<string, RemoteEntry>();
  const count = boundNames();
  const pace = createPace(signal);
  let bytes = 0;
  let rest = '';
  try {
    if (signal.aborted) onAbort();
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      if (bytes > MAX_LISTING_BYTES || rest.length > MAX_LINE_BYTES) throw new AppError('UNSUPPORTED_OPERATION', 'the listing has no end');
      for (const line of lines) {
        count(1);
        const entry = parse(line.replace(/\r$/, ''));
        if (entry && !entries.has(entry.name)) entries.set(entry.name, entry);
      }
      await pace.step();
    }
    // The end of the connection is all that tells the end of the listing.
    if (rest !== '') throw storageError('STORAGE_UNAVAILABLE', new Error('the listing is cut off'));
    await finish();
    return { entries: [...entries.values()], bytes };
  } catch (error) {
    throw isRefusal(error) || AppError.is(error) ? error : storageError('STORAGE_UNAVAILABLE', error);
  } finally {
    socket.destroy();
    signal.removeEventListener('abort', onAbort);
  }
}
