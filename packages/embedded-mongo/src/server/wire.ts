import { decodeDocument } from '../bson/decode.ts';
import { type Doc, getField } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';

/** As MongoDB's maxMessageSizeBytes. */
export const MAX_MESSAGE_BYTES = 48_000_000;

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

const CHECKSUM_PRESENT = 1;
const MORE_TO_COME = 2;
/** Bits 0 to 15 must be understood; the upper ones may be ignored (https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/). */
const REQUIRED_BITS = 0xffff;
const CHECKSUM_BYTES = 4;

/** One whole message, not looked into. */
export interface Frame {
  readonly requestId: number;
  readonly opCode: number;
  readonly body: Buffer;
}

/** A command as it came over the wire. */
export interface WireCommand {
  readonly requestId: number;
  readonly isLegacy: boolean;
  /** False when the client waits for no answer (an unacknowledged write). */
  readonly wantsReply: boolean;
  readonly body: Doc;
}

/** The peer does not speak the protocol; the connection cannot be used any longer. */
export class ProtocolError extends Error {}

/** Cuts a stream of bytes into messages. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #sizeBytes = 0;

  /** @returns the messages that are complete. @throws ProtocolError for an impossible length. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#sizeBytes += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      const lengthBytes = this.#messageBytes();
      if (lengthBytes === undefined || this.#sizeBytes < lengthBytes) return frames;
      const all = this.#joined();
      const message = all.subarray(0, lengthBytes);
      frames.push({ requestId: message.readInt32LE(4), opCode: message.readInt32LE(12), body: message.subarray(HEADER_BYTES) });
      this.#sizeBytes -= lengthBytes;
      // A view of nothing would keep all of it until the next message comes, 48 MB for each connection.
      this.#chunks = this.#sizeBytes === 0 ? [] : [all.subarray(lengthBytes)];
    }
  }

  #messageBytes(): number | undefined {
    if (this.#sizeBytes < HEADER_BYTES) return undefined;
    const first = this.#chunks[0];
    const lengthBytes = (first && first.length >= 4 ? first : this.#joined()).readInt32LE(0);
    if (lengthBytes < HEADER_BYTES || lengthBytes > MAX_MESSAGE_BYTES) throw new ProtocolError(`a message of ${lengthBytes} bytes`);
    return lengthBytes;
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    if (first && this.#chunks.length === 1) return first;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

/**
 * Reads the command of a message.
 *
 * @throws ProtocolError when the message cannot be understood at all, CommandError when it can be answered with an error.
 */
export function readCommand({ requestId, opCode, body }: Frame): WireCommand {
  if (opCode === OP_MSG) return readMessage(requestId, body);
  if (opCode === OP_QUERY) return readLegacyQuery(requestId, body);
  throw new ProtocolError(`the operation code ${opCode}`);
}

/** True when a message's sender waits for an answer, for messages whose command could not be read. */
export function wantsReply({ opCode, body }: Frame): boolean {
  return opCode === OP_MSG && body.length >= 4 && (body.readUInt32LE(0) & MORE_TO_COME) === 0;
}

export function encodeMessage(document: Buffer, responseTo: number, responseId: number, isLegacy: boolean): Buffer {
  const prefix = Buffer.alloc(HEADER_BYTES + (isLegacy ? 20 : 5));
  prefix.writeInt32LE(prefix.length + document.length, 0);
  prefix.writeInt32LE(responseId, 4);
  prefix.writeInt32LE(responseTo, 8);
  prefix.writeInt32LE(isLegacy ? OP_REPLY : OP_MSG, 12);
  // OP_REPLY: flags, cursor, start, and one document. OP_MSG: no flags, one section of kind 0.
  if (isLegacy) {
    prefix.writeInt32LE(8, 16);
    prefix.writeInt32LE(1, 32);
  }
  return Buffer.concat([prefix, document]);
}

function readMessage(requestId: number, message: Buffer): WireCommand {
  if (message.length < 4) throw new ProtocolError('a message without flags');
  const flags = message.readUInt32LE(0);
  if ((flags & REQUIRED_BITS & ~(CHECKSUM_PRESENT | MORE_TO_COME)) !== 0) throw new ProtocolError('unknown flags');
  const end = message.length - (flags & CHECKSUM_PRESENT ? CHECKSUM_BYTES : 0);
  let body: Doc | undefined;
  const sequences: { name: string; documents: Doc[] }[] = [];
  for (let at = 4; at < end; ) {
    const kind = message[at++];
    const section = sized(message, at, end);
    if (kind === 0) {
      if (body) throw new ProtocolError('two bodies in a message');
      body = decodeDocument(section);
    } else if (kind === 1) sequences.push(readSequence(section));
    else throw new ProtocolError('a section of unknown kind');
    at += section.length;
  }
  if (!body) throw new ProtocolError('a message without a body');
  for (const { name, documents } of sequences) {
    if (getField(body, name) !== undefined) throw new CommandError('FailedToParse', `the field '${name}' is given twice`);
    body[name] = documents;
  }
  return { requestId, isLegacy: false, wantsReply: (flags & MORE_TO_COME) === 0, body };
}

function readSequence(section: Buffer): { name: string; documents: Doc[] } {
  const nameEnd = section.indexOf(0, 4);
  if (nameEnd < 0) throw new ProtocolError('a sequence without a name');
  const documents: Doc[] = [];
  for (let at = nameEnd + 1; at < section.length; ) {
    const document = sized(section, at, section.length);
    documents.push(decodeDocument(document));
    at += document.length;
  }
  return { name: section.toString('utf8', 4, nameEnd), documents };
}

/** The part that begins with its own length. */
function sized(bytes: Buffer, at: number, end: number): Buffer {
  if (at + 5 > end) throw new ProtocolError('a part that is cut off');
  const lengthBytes = bytes.readInt32LE(at);
  if (lengthBytes < 5 || at + lengthBytes > end) throw new ProtocolError('a part with an impossible length');
  return bytes.subarray(at, at + lengthBytes);
}

/** Drivers open a connection with a hello in the old form, whose answer tells them of OP_MSG. Nothing else is taken in it. */
function readLegacyQuery(requestId: number, message: Buffer): WireCommand {
  const nameEnd = message.indexOf(0, 4);
  const namespace = message.toString('utf8', 4, nameEnd);
  if (nameEnd < 0 || !namespace.endsWith('.$cmd')) throw new ProtocolError('a legacy query');
  const body = decodeDocument(sized(message, nameEnd + 1 + 8, message.length));
  const [name] = Object.keys(body);
  if (name !== 'hello' && name !== 'isMaster' && name !== 'ismaster') throw new ProtocolError('a legacy command');
  body['$db'] = namespace.slice(0, -'.$cmd'.length);
  return { requestId, isLegacy: true, wantsReply: true, body };
}
