/** A text of unknown encoding. A cut through its last character does not make it another one. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  for (const encoding of ['utf-8', ...(isPaired(bytes) ? ['gb18030'] : [])])
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
    } catch {
      // Not this one.
    }
  return new TextDecoder('windows-1252').decode(bytes);
}

/** Chinese has its bytes above ASCII in pairs; in Latin texts most of them are alone. */
function isPaired(bytes: Uint8Array): boolean {
  let run = 0;
  for (const byte of bytes) {
    if (byte < 0x80 && run % 2 === 1) return false;
    run = byte < 0x80 ? 0 : run + 1;
  }
  return true;
}
