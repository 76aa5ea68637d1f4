import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createParser, type Operation } from './parser.ts';

const MAX_LINE_BYTES = 100;
const MAX_PAYLOAD_BYTES = 1000;

/** Everything the parser says about a stream that comes in these pieces; a violation ends the list as its text. */
function parse(...chunks: (string | Buffer)[]): (Operation | string)[] {
  const said: (Operation | string)[] = [];
  const parser = createParser({
    maxLineBytes: MAX_LINE_BYTES,
    maxPayloadBytes: MAX_PAYLOAD_BYTES,
    mayPublish: () => true,
    onOperation: (operation) => said.push(operation),
    onViolation: (text) => said.push(text),
  });
  for (const chunk of chunks) parser.push(Buffer.from(chunk));
  return said;
}

const pub = (subject: string, content: string, more: { reply?: string; headerBytes?: number } = {}) => ({
  kind: 'pub',
  subject,
  reply: undefined,
  headerBytes: undefined,
  content: Buffer.from(content),
  ...more,
});

describe('operations', () => {
  it.each<[string, unknown]>([
    ['PING\r\n', { kind: 'ping' }],
    ['pong\n', { kind: 'pong' }],
    ['CONNECT {"a": "b  c"}\r\n', { kind: 'connect', json: ' {"a": "b  c"}' }],
    ['SUB a.* 7\r\n', { kind: 'sub', subject: 'a.*', queue: undefined, sid: '7' }],
    ['sub\ta  workers\t7 \r\n', { kind: 'sub', subject: 'a', queue: 'workers', sid: '7' }],
    ['UNSUB 7\r\n', { kind: 'unsub', sid: '7', max: undefined }],
    ['UNSUB 7 10\r\n', { kind: 'unsub', sid: '7', max: 10 }],
    ['PUB a 0\r\n\r\n', pub('a', '\r\n')],
    ['PUB a 5\r\nhello\r\n', pub('a', 'hello\r\n')],
    ['PUB a back 2\r\n\r\n\r\n', pub('a', '\r\n\r\n', { reply: 'back' })],
    ['HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n', pub('a', 'NATS/1.0\r\n\r\nhi\r\n', { headerBytes: 12 })],
    ['HPUB a back 12 12\r\nNATS/1.0\r\n\r\n\r\n', pub('a', 'NATS/1.0\r\n\r\n\r\n', { reply: 'back', headerBytes: 12 })],
  ])('%j', (text, operation) => {
    expect(parse(text)).toEqual([operation]);
  });
});

describe('violations end the parsing', () => {
  it.each([
    'GET / HTTP/1.1\r\n',
    '\r\n',
    'PUB\r\n',
    'PUB a\r\n',
    'PUB a b c 5\r\n',
    'PUB a -1\r\n',
    'PUB a 1e3\r\n',
    'PUB a 0x10\r\n',
    'PUB a 99999999999999999999\r\n',
    'PUB a 2\r\nabc\r\n',
    'PUB a 2\r\nab\n\n',
    'HPUB a 5\r\n',
    'HPUB a 5 4\r\n',
    'HPUB a b c 1 2\r\n',
    'SUB a\r\n',
    'SUB a b c d\r\n',
    'UNSUB\r\n',
    'UNSUB 1 x\r\n',
    'UNSUB 1 2 3\r\n',
  ])('%j', (text) => {
    expect(parse('PING\r\n', text, 'PING\r\n')).toEqual([{ kind: 'ping' }, 'Unknown Protocol Operation']);
  });

  it('a payload above the limit is refused before it comes', () => {
    expect(parse(`PUB a ${MAX_PAYLOAD_BYTES + 1}\r\n`, 'PING\r\n')).toEqual(['Maximum Payload Violation']);
    expect(parse(`PUB a ${MAX_PAYLOAD_BYTES}\r\n`)).toEqual([]);
  });

  it('a line above the limit is refused, whether its end has come or not', () => {
    const longest = `SUB ${'x'.repeat(MAX_LINE_BYTES - 6)} 1`;
    expect(parse(`${longest}\r\n`)).toHaveLength(1);
    expect(parse(`${longest}0\r\n`.replace('SUB', 'SUB '))).toEqual(['maximum control line exceeded']);
    expect(parse('x'.repeat(MAX_LINE_BYTES + 1), 'x')).toEqual(['maximum control line exceeded']);
  });
});

describe('chunks', () => {
  const name = fc.stringMatching(/^[a-z]{1,5}(\.[a-z]{1,5}){0,2}$/);
  const payload = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  const line = fc.oneof(
    fc.constantFrom('PING\r\n', 'PONG\r\n', 'CONNECT {"verbose":false}\r\n', 'BAD\r\n'),
    fc.tuple(name, fc.nat(9)).map(([subject, sid]) => `SUB ${subject} ${sid}\r\n`),
    fc.tuple(fc.nat(9), fc.nat(9)).map(([sid, max]) => `UNSUB ${sid} ${max}\r\n`),
  );
  const message = fc
    .tuple(name, fc.option(name), payload, fc.boolean())
    .map(([subject, reply, content, hasHeaders]) =>
      Buffer.concat([
        Buffer.from(
          `${hasHeaders ? 'HPUB' : 'PUB'} ${subject} ${reply === null ? '' : reply} ${hasHeaders ? '0 ' : ''}${content.length}\r\n`,
        ),
        content,
        Buffer.from('\r\n'),
      ]),
    );
  const stream = fc.array(fc.oneof({ weight: 1, arbitrary: line.map((text) => Buffer.from(text)) }, { weight: 3, arbitrary: message }));

  it('say the same wherever the stream is cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(100)), (parts, sizes) => {
        const whole = Buffer.concat(parts);
        const cut: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          cut.push(whole.subarray(at, at + size));
          at += size;
        }
        cut.push(whole.subarray(at));
        expect(parse(...cut)).toEqual(parse(whole));
      }),
      { numRuns: 300 },
    );
  });

  it('say the same byte by byte', () => {
    fc.assert(
      fc.property(stream, (parts) => {
        const whole = Buffer.concat(parts);
        expect(parse(...Array.from(whole, (byte) => Buffer.from([byte])))).toEqual(parse(whole));
      }),
    );
  });

  it('bytes of any kind make no exception', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (chunks) => {
        expect(Array.isArray(parse(...chunks.map((chunk) => Buffer.from(chunk))))).toBe(true);
      }),
    );
  });
});
