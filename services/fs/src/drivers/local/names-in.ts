import fs from 'node:fs';
import { AppError } from '@wharf/errors';

const SLASH = Buffer.from('/');
/** Names that are read, and kept, at a time. */
const SOME = 256;
/** What all walks of a thread may keep, in bytes of names, and what an open folder counts beside these: handles are the process's. */
const MOST_BYTES = 16 * 1024 * 1024;
const OPEN_BYTES = 128 * 1024;
let keptBytes = 0;

/**
 * The names of a folder, as they are on disk, for a walk that takes its time. Of a long folder some are read at a time, and it stays open for the next: all of
 * them, for each walk of many that go on at once, are more than the memory of a process. The folder may be emptied meanwhile.
 *
 * @param prefix of the folder, as FolderChain has it. @param isWanted of whose entries names come; all unless told
 * @throws AppError OVERLOADED: walks of this thread keep too much; the error of the system
 */
export function* namesIn(prefix: Buffer, isWanted: (entry: fs.Dirent) => boolean = () => true): Generator<Buffer, void> {
  // @types/node knows no names as bytes here.
  let open: fs.Dir | undefined = fs.opendirSync(prefix as unknown as string, { encoding: 'buffer' as BufferEncoding, bufferSize: SOME });
  let ownBytes = 0;
  const keep = (bytes: number) => {
    keptBytes += bytes - ownBytes;
    ownBytes = bytes;
  };
  try {
    while (open) {
      const { names, isEnd } = readSome(open, isWanted);
      if (isEnd) {
        open.closeSync();
        open = undefined;
      }
      keep(names.length + (open ? OPEN_BYTES : 0));
      if (keptBytes > MOST_BYTES) throw tooMuch();
      yield* namesOf(names);
    }
  } finally {
    keep(0);
    open?.closeSync();
  }
}

/** @returns the names as one piece: each of many pieces takes several times what it holds */
function readSome(open: fs.Dir, isWanted: (entry: fs.Dirent) => boolean): { names: Buffer; isEnd: boolean } {
  const names: Buffer[] = [];
  for (let count = 0; count < SOME; count += 1) {
    const entry = open.readSync();
    if (entry === null) return { names: packNames(names), isEnd: true };
    if (isWanted(entry)) names.push(entry.name as unknown as Buffer);
  }
  return { names: packNames(names), isEnd: false };
}

function* namesOf(names: Buffer): Generator<Buffer, void> {
  for (let from = 0; from < names.length; ) {
    const end = names.indexOf(SLASH, from);
    yield names.subarray(from, end);
    from = end + 1;
  }
}

function packNames(names: readonly Buffer[]): Buffer {
  return Buffer.concat(names.flatMap((name) => [name, SLASH]));
}

/** What is in a folder, some at a time: of a long one all entries take more than their names, and these more than the heap of a thread may have. */
export function* direntsOf(folder: string): Generator<fs.Dirent, void> {
  const open = fs.opendirSync(folder, { bufferSize: 1_024 });
  try {
    for (let dirent = open.readSync(); dirent !== null; dirent = open.readSync()) yield dirent;
  } finally {
    open.closeSync();
  }
}

function tooMuch(): AppError {
  return new AppError(
    'OVERLOADED',
    'too many long folders are gone through at once: try again in a moment, or begin with those that are inside',
  );
}
