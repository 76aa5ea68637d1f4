/**
 * Bytes as people read them: where, each in two digits, and what is a letter.
 *
 * @param offset of the first one in its file
 */
export function byteRows(bytes: Uint8Array, offset: number, perRow: 8 | 16 = 16): string {
  const rows: string[] = [];
  for (let start = 0; start < bytes.length; start += perRow) {
    const row = bytes.subarray(start, start + perRow);
    const digits = Array.from(row, (byte) => byte.toString(16).padStart(2, '0'));
    const halves = [digits.slice(0, perRow / 2), digits.slice(perRow / 2)].map((half) => half.join(' ').padEnd(perRow * 1.5 - 1));
    const letters = String.fromCharCode(...Array.from(row, (byte) => (byte >= 0x20 && byte < 0x7f ? byte : 0x2e)));
    rows.push(`${(offset + start).toString(16).padStart(8, '0')}  ${halves.join('  ')}  ${letters}`);
  }
  return rows.join('\n');
}
