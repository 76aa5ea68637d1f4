import { createHash } from 'node:crypto';

/** A torrent of a folder with a file of ours and an empty one. Nothing in it leads to anybody: it has no tracker, and is private. */
export interface ProbeTorrent {
  /** Of its folder. */
  readonly name: string;
  /** Of the file with content, in the folder. */
  readonly fileName: string;
  /** Of the empty file, in the folder: a tool may create it, as it has nothing to fetch for it. */
  readonly emptyName: string;
  readonly fileContent: Buffer;
  /** The torrent file. */
  readonly content: Buffer;
  /** The v1 hash in hexadecimal. */
  readonly hash: string;
}

const PIECE_BYTES = 16 * 1024;
const FILE_NAME = 'probe';
const EMPTY_NAME = 'empty';

/** @param fileContent at most one piece, and by chance: tools know a torrent by its hash. */
export function makeProbeTorrent(name: string, fileContent: Buffer): ProbeTorrent {
  const text = (value: string | Buffer) => Buffer.concat([Buffer.from(`${Buffer.byteLength(value)}:`), Buffer.from(value)]);
  const file = (fileName: string, length: number) => [`d6:lengthi${length}e4:pathl`, text(fileName), 'ee'];
  const info = join([
    'd5:filesl',
    ...file(EMPTY_NAME, 0),
    ...file(FILE_NAME, fileContent.length),
    'e4:name',
    text(name),
    `12:piece lengthi${PIECE_BYTES}e6:pieces`,
    text(createHash('sha1').update(fileContent).digest()),
    '7:privatei1ee',
  ]);
  return {
    name,
    fileName: FILE_NAME,
    emptyName: EMPTY_NAME,
    fileContent,
    content: join(['d4:info', info, 'e']),
    hash: createHash('sha1').update(info).digest('hex'),
  };
}

function join(pieces: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}
