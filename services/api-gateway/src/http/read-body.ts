import type { IncomingMessage } from 'node:http';
import { AppError } from '@wharf/errors';
import { createFairTurns, freeChunk, gatherBytes } from '@wharf/pace';
import type { RawInput } from '../api/decode-input.ts';
import { parseJson } from '../api/parse-json.ts';
import { parsePairs } from '../api/parse-pairs.ts';
import type { Hold } from './held-bytes.ts';
import { parseMultipart } from './parse-multipart.ts';

/** No body of a JSON route is larger, in bytes. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** How much of a refused body is read and thrown away, in bytes: browsers report a network failure when nobody reads. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;
/** A JSON body, or the rest of a refused one, must have come within this time, in milliseconds. */
const BODY_TIMEOUT_MS = 30_000;

/** What is longer is read one in each turn of the event loop, bodies and queries, in bytes: the fields of 60 KiB take 20 ms, and those of many at once would add up. */
const MAX_AT_ONCE_BYTES = 4 * 1024;

/** What is made of a body, and of what it asks for, while its call goes on: for each byte, and for each value or field of it, in bytes. Measured, rounded up. */
const WEIGHT = { ofByte: 4, ofValue: 512 } as const;

const PLUS = 0x2b;
const BLANK = 0x20;

/** Turns that are left to others after one, by its length, and at most. */
const MAX_BETWEEN = 16;
/** So many of one user or address wait for that: more than are answered at a time. */
const MAX_WAITING = 250;

const takeTurn = createFairTurns({ max: MAX_WAITING, refusal: 'too much of yours waits to be read: try again in a moment' });

const NO_BODY: RawInput['body'] = { kind: 'none' };

/** The turns of one request. */
export interface RequestTurns {
  /** Waits until something so long may be looked at. @throws AppError OVERLOADED | CANCELLED: the client has gone meanwhile */
  come(lengthBytes: number): Promise<void>;
  /** Whether there was something to wait for. */
  haveCome(): boolean;
}

/** @param owner who sent the request: what others sent has its turn in between */
export function turnsOf({ socket }: IncomingMessage, owner: string): RequestTurns {
  let haveCome = false;
  return {
    haveCome: () => haveCome,
    async come(lengthBytes) {
      if (lengthBytes <= MAX_AT_ONCE_BYTES) return;
      haveCome = true;
      await takeTurn(owner, Math.min(lengthBytes / MAX_AT_ONCE_BYTES, MAX_BETWEEN));
      if (socket.destroyed) throw new AppError('CANCELLED', 'the client went away');
    },
  };
}

/**
 * Reads the body of a JSON route. It is JSON when its content type says so, or when it has no content type and begins like JSON. Else it is
 * a form.
 *
 * @param options.turns is waited for before what came is looked at. @param options.isNeeded an empty body that says it is JSON is refused then. @param options.refusal what is said about a body that is no JSON
 * @param options.hold is called with the bytes of the room that is made for it, `options.holdMade` with those that what is made of it takes
 * @throws AppError INVALID_ARGUMENT: too large, too slow, too many values, or not what it says it is; and what `hold` and `holdMade` throw
 */
export async function readBody(
  request: IncomingMessage,
  options: {
    turns: Pick<RequestTurns, 'come'>;
    isNeeded: boolean;
    refusal?: string | undefined;
    hold: Hold;
    holdMade: Hold;
  },
): Promise<RawInput['body']> {
  const type = (request.headers['content-type'] ?? '').trim().toLowerCase();
  const isJson = /^application\/(?:json|[\w.+-]+\+json)(?:\s*;|$)/.test(type);
  const bytes = await readBytes(request, options.hold);
  if (bytes.length === 0) {
    if (isJson && options.isNeeded) throw new AppError('INVALID_ARGUMENT', options.refusal ?? 'EOF');
    return NO_BODY;
  }
  await options.turns.come(bytes.length);
  const weigh = (values: number) => options.holdMade(bytes.length * WEIGHT.ofByte + values * WEIGHT.ofValue);
  if (isJson || (!isForm(type) && /^\s*[[{]/.test(bytes.toString('latin1', 0, 64))))
    return { kind: 'json', value: parseJson(bytes, options.refusal ?? 'the body is not valid JSON', weigh) };
  const fields = type.startsWith('multipart/form-data')
    ? await parseMultipart(bytes, request.headers['content-type'] ?? '')
    : parsePairs(withBlanks(bytes).toString('utf8'));
  weigh(fields.length);
  return { kind: 'form', fields };
}

/** In a form `+` means a blank. It is replaced first, because `URLSearchParams` takes a third of a second for 4 MiB of `+`. */
function withBlanks(form: Buffer): Buffer {
  for (let at = form.indexOf(PLUS); at !== -1 && at < form.length; at += 1) if (form[at] === PLUS) form[at] = BLANK;
  return form;
}

const isForm = (type: string) => type.startsWith('application/x-www-form-urlencoded') || type.startsWith('multipart/form-data');

async function readBytes(request: IncomingMessage, hold: Hold): Promise<Buffer> {
  if (!hasBody(request)) return Buffer.alloc(0);
  const { 'content-length': announced } = request.headers;
  const mostBytes = Math.min(Number(announced ?? MAX_BODY_BYTES), MAX_BODY_BYTES);
  const gathered = gatherBytes(mostBytes, hold);
  const isTooLarge = Number(announced ?? 0) > MAX_BODY_BYTES;
  const outcome = isTooLarge
    ? 'too large'
    : await consume(request, MAX_BODY_BYTES, (chunk) => {
        gathered.add(chunk);
        freeChunk(chunk);
      });
  if (outcome === 'whole') return gathered.whole();
  if (outcome === 'too late') throw new AppError('INVALID_ARGUMENT', `the body did not come within ${BODY_TIMEOUT_MS / 1000} seconds`);
  throw new AppError('INVALID_ARGUMENT', `the body is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`);
}

/** Reads what is left of a body and throws it away, unless it is too large or too slow for that. @throws CANCELLED */
export async function drainBody(request: IncomingMessage): Promise<void> {
  if (!hasBody(request) || Number(request.headers['content-length'] ?? 0) > MAX_DRAINED_BYTES) return;
  await consume(request, MAX_DRAINED_BYTES, () => {});
}

function hasBody(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** Reads until the end, until more than `maxBytes` came, or until time is up; then the request is paused. @throws CANCELLED, and what `onChunk` throws */
function consume(
  request: IncomingMessage,
  maxBytes: number,
  onChunk: (chunk: Buffer) => void,
): Promise<'whole' | 'too large' | 'too late'> {
  if (request.readableEnded) return Promise.resolve('whole');
  if (request.destroyed) return Promise.reject(new AppError('CANCELLED', 'the client went away'));
  return new Promise((resolve, reject) => {
    let receivedBytes = 0;
    const leave = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    };
    const settle = (outcome: 'whole' | 'too large' | 'too late') => {
      leave();
      if (outcome !== 'whole') request.pause();
      resolve(outcome);
    };
    const onData = (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes > maxBytes) return settle('too large');
      try {
        onChunk(chunk);
      } catch (error) {
        leave();
        request.pause();
        reject(error);
      }
    };
    const onEnd = () => settle('whole');
    const onGone = () => {
      clearTimeout(timer);
      reject(new AppError('CANCELLED', 'the client went away'));
    };
    const timer = setTimeout(() => settle('too late'), BODY_TIMEOUT_MS);
    // An earlier reader may have left the request paused.
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone).resume();
  });
}
