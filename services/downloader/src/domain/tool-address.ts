import { AppError } from '@wharf/errors';

/** Where a tool is, and what it wants to hear. */
export interface ToolAddress {
  /** Without user and password, which are never part of a message or a log line. */
  readonly url: URL;
  readonly username: string;
  readonly password: string;
}

/**
 * Reads the address of a tool as the admin enters it: http or https, with user and password inside where the tool asks for them. @throws
 * AppError INVALID_ARGUMENT
 */
export function parseToolAddress(text: string): ToolAddress {
  const url = URL.parse(text.trim());
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new AppError('INVALID_ARGUMENT', 'the address must start with http:// or https://');
  const username = decode(url.username);
  const password = decode(url.password);
  url.username = '';
  url.password = '';
  url.hash = '';
  return { url, username, password };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
