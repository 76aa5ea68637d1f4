import { expect, it } from 'vitest';
import { decodeText } from './decode-text.ts';

it.each([
  ['UTF-8', new TextEncoder().encode('häßlich 你好'), 'häßlich 你好'],
  ['UTF-8 that is cut', new TextEncoder().encode('ä好').subarray(0, 4), 'ä'],
  ['UTF-16 with its mark', Uint8Array.of(0xff, 0xfe, 0x60, 0x4f), '你'],
  ['GB 18030', Uint8Array.of(0xc4, 0xe3, 0xba, 0xc3), '你好'],
  ['Latin', Uint8Array.of(0x73, 0x63, 0x68, 0xf6, 0x6e), 'schön'],
  ['nothing', new Uint8Array(), ''],
])('%s', (_, bytes, text) => expect(decodeText(bytes)).toBe(text));
