import { afterAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { ErrorName } from '../api/operations.ts';
import { partSum } from './part-sum.ts';
import type { SendJob } from './send-job.ts';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', (type: string, goOn: () => void) => type === 'online' && queueMicrotask(goOn));
vi.stubGlobal('removeEventListener', () => undefined);
vi.stubGlobal('fetch', async () => new Response('pong'));
const call = vi.fn();
const sendBytes = vi.fn();
const { ApiError } = await import('../api/call.ts');
vi.doMock('../api/call.ts', () => ({ ApiError, call }));
vi.doMock('./send-in-thread.ts', () => ({ sendInThread: undefined }));
vi.doMock('./send-bytes.ts', () => ({ sendBytes, encodePath: (path: string) => path, TOO_LARGE: 413 }));
vi.resetModules();
const { createSendFile } = await import('./send-file.ts');
const { OtherFile } = await import('./send-parts.ts');
afterAll(() => {
  for (const path of ['../api/call.ts', './send-in-thread.ts', './send-bytes.ts']) vi.doUnmock(path);
  vi.unstubAllGlobals();
  // What was loaded beside these is for these tests alone.
  vi.resetModules();
});
beforeEach(() => {
  call.mockReset();
  sendBytes.mockReset();
});

const lost = () => Promise.reject(new ApiError(0, 'lost'));
const says = (error: ErrorName) => Promise.reject(new ApiError(400, error, error));
const KNOWN = { upload_id: 'a', state: 'receiving', chunk_size: 2 ** 20, total_chunks: 1, received: [], received_bytes: 0 };

const middleFile = () => new File([new Uint8Array(5 * 2 ** 20)], 'a');
const bigFile = () => new File([new Uint8Array(9 * 2 ** 20)], 'a');

/** Answers calls by the end of their address. */
function answer(answers: Readonly<Record<string, () => unknown>>): void {
  call.mockImplementation(async (address: string) => answers[address.split('/').at(-1) ?? '']?.());
}

function send(takesParts: boolean, asked: Partial<SendJob> = {}, sendFile = createSendFile(() => takesParts)) {
  const askAgain = vi.fn(() => 'another key');
  const keep = vi.fn();
  const job = {
    ...{ file: new File(['text'], 'a'), path: '/a', overwrite: true, key: 'the key', session: undefined },
    ...{ signal: new AbortController().signal, tell: () => undefined, keep, askAgain, ...asked },
  };
  return { outcome: sendFile(job), askAgain, keep };
}

const begunWith = () => call.mock.calls.filter(([address]) => address.endsWith('/init')).map(([, { Overwrite }]) => Overwrite);

it('an upload whose end is not answered is not begun anew, however often: it may be stored, and replaced by others', async () => {
  let ends = 0;
  const received = () => ({ ...KNOWN, received: [[0, 0]] });
  answer({ init: () => KNOWN, status: received, complete: () => (++ends < 8 ? lost() : undefined) });
  expect(await send(true, { file: bigFile() }).outcome).toEqual({ state: 'done' });
  expect(begunWith()).toEqual(['true']);
  expect(call.mock.calls.some(([address]) => address.endsWith('/abort'))).toBe(false);
});

/** Parts of a file that has three, as the server sums them. */
const sumsOf = (session: string, content: string) =>
  Promise.all([0, 1, 2].map((index) => partSum(session, new Blob([content.slice(index * 4, index * 4 + 4)]))));
const SESSION = '00112233445566778899aabbccddeeff';
const sentParts = () => sendBytes.mock.calls.map(([, headers]) => headers['X-Chunk-Index']);

it.each([true, false])('a file is chosen again: all parts that are there are compared, by sums: %s', async (hasSums) => {
  const known = { ...KNOWN, upload_id: SESSION, chunk_size: 4, total_chunks: 3, received: [[0, 1]], received_bytes: 8 };
  const sums = (await sumsOf(SESSION, 'aaaabbbbcccc')).slice(0, 2);
  answer({ status: () => ({ ...known, ...(hasSums && { sums }) }) });
  const resume = (content: string) => send(true, { session: SESSION, file: new File([content], 'a') });
  if (!hasSums)
    sendBytes.mockImplementation(async (_, headers, part: Blob) => {
      if (headers['X-Chunk-Index'] === '1' && (await part.text()) !== 'bbbb') await says('INVALID_ARGUMENT');
    });
  // It has the first part in common.
  expect(await resume('aaaaxxxxcccc').outcome).toEqual({ state: 'failed', error: expect.any(OtherFile) });
  expect(sentParts()).toEqual(hasSums ? [] : ['0', '1']);
  sendBytes.mockClear();
  expect(await resume('aaaabbbbcccc').outcome).toEqual({ state: 'done' });
  expect(sentParts()).toEqual(hasSums ? ['2'] : ['0', '1', '2']);
});

it('of a file that goes on, parts are compared that something else than this page sent', async () => {
  const known = { ...KNOWN, upload_id: SESSION, chunk_size: 4, total_chunks: 3 };
  const file = new File(['aaaabbbbcccc'], 'a');
  let received: number[][] = [];
  const sums = (await sumsOf(SESSION, 'aaaaxxxxcccc')).slice(0, 2);
  answer({ status: () => ({ ...known, received, sums }) });
  // The first part is sent, and the next ones fail for good.
  sendBytes.mockImplementation((_, headers) => (headers['X-Chunk-Index'] === '0' ? undefined : says('QUOTA_EXCEEDED')));
  expect(await send(true, { session: SESSION, file }).outcome).toMatchObject({ state: 'failed' });
  received = [[0, 1]];
  expect(await send(true, { session: SESSION, file }).outcome).toEqual({ state: 'failed', error: expect.any(OtherFile) });
});

it('one whose parts are cut off again and again is begun anew in smaller ones', async () => {
  answer({ init: () => KNOWN, status: () => KNOWN });
  for (let cut = 0; cut < 3; cut += 1) sendBytes.mockImplementationOnce(lost);
  expect(await send(true, { file: bigFile() }).outcome).toEqual({ state: 'done' });
  expect(call.mock.calls.filter(([address]) => address.endsWith('/init')).map(([, input]) => input['X-Chunk-Size'])).toEqual([
    `${8 * 2 ** 20}`,
    `${4 * 2 ** 20}`,
  ]);
});

const keysOfPuts = () => sendBytes.mock.calls.map(([, headers]) => [headers['Idempotency-Key'], headers.Overwrite]);

it('a file that is sent again has its key, by which the server knows it', async () => {
  for (let put = 0; put < 2; put += 1) sendBytes.mockImplementationOnce(lost);
  const { outcome, askAgain } = send(false);
  expect(await outcome).toEqual({ state: 'done' });
  expect(keysOfPuts()).toEqual(Array.from({ length: 3 }, () => ['the key', 'true']));
  expect(askAgain).not.toHaveBeenCalled();
});

it('where nobody knows what came of it, it is asked anew whether it replaces what is there', async () => {
  sendBytes.mockImplementationOnce(() => says('FAILED_PRECONDITION')).mockImplementation(() => says('ENTRY_EXISTS'));
  const unknown = send(false);
  expect(await unknown.outcome).toEqual({ state: 'exists' });
  expect(keysOfPuts()).toEqual([
    ['the key', 'true'],
    ['another key', 'false'],
  ]);

  answer({ status: () => says('RECORD_NOT_FOUND') });
  const forgotten = send(true, { session: 'gone' });
  expect(await forgotten.outcome).toEqual({ state: 'exists' });
  expect(forgotten.askAgain).toHaveBeenCalled();
});

it('an upload that found its name taken at its end is begun anew where that is to be replaced', async () => {
  answer({ init: () => KNOWN, complete: () => says('ENTRY_EXISTS'), status: () => says('RECORD_NOT_FOUND') });
  const { outcome, keep } = send(true, { overwrite: false, file: bigFile() });
  expect(await outcome).toEqual({ state: 'exists' });
  expect(keep).toHaveBeenLastCalledWith(undefined);
});

it('one that was put, and may be stored, goes on in parts only where it replaces nothing', async () => {
  answer({ init: () => says('ENTRY_EXISTS') });
  for (let cut = 0; cut < 3; cut += 1) sendBytes.mockImplementationOnce(lost);
  const { outcome, askAgain } = send(true, { file: middleFile() });
  expect(await outcome).toEqual({ state: 'exists' });
  expect(begunWith()).toEqual(['false']);
  expect(askAgain).toHaveBeenCalledOnce();
});

it('so it is where it was paused, and others were cut off meanwhile; one that a proxy refused is not stored', async () => {
  answer({ init: () => KNOWN, status: () => KNOWN });
  const sendFile = createSendFile(() => true);
  const pausing = new AbortController();
  sendBytes.mockImplementationOnce(async () => {
    pausing.abort();
    return lost();
  });
  await expect(send(true, { file: middleFile(), signal: pausing.signal }, sendFile).outcome).rejects.toThrow();
  sendBytes.mockImplementationOnce(() => Promise.reject(new ApiError(413, 'too large')));
  const refused = send(true, { file: middleFile(), key: 'of another one' }, sendFile);
  expect(await refused.outcome).toEqual({ state: 'done' });
  expect(await send(true, { file: middleFile() }, sendFile).outcome).toEqual({ state: 'done' });
  expect(begunWith()).toEqual(['true', 'false']);
});

it('one that was put a day ago, which the server knows no more, replaces nothing', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  sendBytes.mockImplementationOnce(async () => {
    vi.setSystemTime(Date.now() + 24 * 3_600_000);
    return lost();
  });
  sendBytes.mockImplementation(() => says('ENTRY_EXISTS'));
  expect(await send(false).outcome).toEqual({ state: 'exists' });
  expect(keysOfPuts()).toEqual([
    ['the key', 'true'],
    ['another key', 'false'],
  ]);
});

it('an upload that another page has ended is not told as stored: it may have been of another file', async () => {
  let ends = 0;
  const completed = () => ({ ...KNOWN, state: 'completed', received: [[0, 0]] });
  answer({ status: completed, init: () => KNOWN, complete: () => says('ENTRY_EXISTS') });
  const { outcome } = send(true, { file: bigFile(), session: 'b', overwrite: false });
  expect(await outcome).toEqual({ state: 'exists' });
  expect(begunWith()).toEqual(['false']);
  // The end of one whose parts this page sent may have lost its answer.
  answer({ status: completed, init: () => KNOWN, complete: () => (++ends < 3 ? lost() : undefined) });
  expect(await send(true, { file: bigFile() }).outcome).toEqual({ state: 'done' });
});
