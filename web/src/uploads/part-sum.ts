/** Bytes of a tag that the server keeps. */
const KEPT_BYTES = 6;

/**
 * The sum that the server knows an accepted part by: GMAC under the id of the upload, which is AES-GCM of no text.
 *
 * @returns undefined: pages that came by plain HTTP cannot
 */
export async function partSum(session: string, part: Blob): Promise<number | undefined> {
  // Typed as always there, which it is not.
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  if (!subtle) return undefined;
  const raw = Uint8Array.from(session.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  const key = await subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt']);
  const sealing = { name: 'AES-GCM', iv: new Uint8Array(12), additionalData: await part.arrayBuffer() };
  const tag = new Uint8Array(await subtle.encrypt(sealing, key, new Uint8Array()));
  return tag.subarray(0, KEPT_BYTES).reduce((sum, byte) => sum * 256 + byte, 0);
}
