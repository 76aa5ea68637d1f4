/** What is sent under one key is done once: browsers send a request again, by themselves, whose connection was lost before its answer came. */
export const ONCE_KEY = 'Idempotency-Key';

/** 32 hexadecimal digits. Pages that came by plain HTTP have no `randomUUID`. */
export const newOnceKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
