import { describe, expect, it } from 'vitest';
import { ReplyReader } from './replies.ts';

const FEAT = '211-Features:\r\n MLST modify*;\r\n220 is no end of this\r\n211-nor this\r\n211 End\r\n';

describe('replies of an FTP server', () => {
  it.each([1, 3, 1_000])('are put together from pieces of %i bytes', (size) => {
    const bytes = Buffer.from(`220 hello\r\n${FEAT}200\r\n`);
    const reader = new ReplyReader();
    const replies = [];
    for (let at = 0; at < bytes.byteLength; at += size) replies.push(...reader.take(bytes.subarray(at, at + size)));
    expect(replies).toEqual([
      { code: 220, lines: ['hello'] },
      { code: 211, lines: ['Features:', ' MLST modify*;', '220 is no end of this', '211-nor this', 'End'] },
      { code: 200, lines: [''] },
    ]);
    expect(reader.isHalfway).toBe(false);
  });

  it.each(['SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 400 Bad Request\r\n', '\r\n', '99 x\r\n', '2200 x\r\n'])('%j is none', (text) => {
    expect(() => new ReplyReader().take(Buffer.from(text))).toThrow(/does not speak FTP/);
  });

  it('have an end', () => {
    const reader = new ReplyReader();
    const endless = () => {
      for (let count = 0; count < 10_000; count++) reader.take(Buffer.from('220-and so on\r\n'));
    };
    expect(endless).toThrow(/without end/);
    expect(() => new ReplyReader().take(Buffer.alloc(100_000, 'x'))).toThrow(/without end/);
  });
});
