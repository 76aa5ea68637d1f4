import { AppError } from '@wharf/errors';

/** `host`, `host:port`, `[IPv6]:port` or a bare IPv6 address. @throws AppError INVALID_ARGUMENT, for the admin */
export function parseAddress(text: string, defaultPort: number): { host: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s[\]:/@]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? (/^[0-9a-fA-F:.]+$/.test(text) ? text : undefined);
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port < 1 || port > 65_535) throw new AppError('INVALID_ARGUMENT', 'address is not a host and a port');
  return { host, port };
}
