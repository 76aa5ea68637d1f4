import fs from 'node:fs';

const SLASH = 0x2f;
/** Names that are read at a time: all at once take several times what they take as pieces, and the heap of the thread keeps that. */
const SOME = 1_024;

/**
 * The names of a folder, as they are on disk, for a walk that takes its time. They are kept as few pieces: a hundred thousand pieces for each walk of many that
 * go on at once are more than the memory of a worker, whose end would break off what all others do by it.
 *
 * @param prefix of the folder, as FolderChain has it. @throws the error of the system
 */
export function* namesIn(prefix: Buffer): Generator<Buffer, void> {
  for (const piece of [...piecesOf(prefix)]) yield* namesOf(piece);
}

function* piecesOf(prefix: Buffer): Generator<Buffer, void> {
  // @types/node knows no names as bytes here.
  const open = fs.opendirSync(prefix as unknown as string, { encoding: 'buffer' as BufferEncoding, bufferSize: SOME });
  try {
    let some: Buffer[] = [];
    for (let dirent = open.readSync(); dirent !== null; dirent = open.readSync()) {
      some.push(dirent.name as unknown as Buffer);
      if (some.length < SOME) continue;
      yield packNames(some);
      some = [];
    }
    yield packNames(some);
  } finally {
    open.closeSync();
  }
}

/** @param names as packNames() made them */
export function* namesOf(names: Buffer): Generator<Buffer, void> {
  for (let from = 0; from < names.length; ) {
    const end = names.indexOf(SLASH, from);
    yield names.subarray(from, end);
    from = end + 1;
  }
}

/** Names as one piece. */
export function packNames(names: readonly Buffer[]): Buffer {
  const all = Buffer.allocUnsafeSlow(names.reduce((sum, { length }) => sum + length + 1, 0));
  let at = 0;
  for (const name of names) {
    at += name.copy(all, at);
    all[at] = SLASH;
    at += 1;
  }
  return all;
}
