/** How a text in UTF-8 says that it is, and how its lines end. */
export interface TextForm {
  readonly mark: '' | '\uFEFF';
  readonly lineEnd: '\n' | '\r\n';
}

/** Undefined: an edited text could not be written back as it was read, beside the changes. */
export function formOf(bytes: Uint8Array): TextForm | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const lines = text.split('\n').length - 1;
  const pairs = text.split('\r\n').length - 1;
  const returns = text.split('\r').length - 1;
  if (returns !== pairs || (pairs !== 0 && pairs !== lines)) return undefined;
  return { mark: text.startsWith('\uFEFF') ? '\uFEFF' : '', lineEnd: pairs > 0 ? '\r\n' : '\n' };
}
