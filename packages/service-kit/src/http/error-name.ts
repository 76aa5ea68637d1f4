import type { ServerResponse } from 'node:http';
import type { ErrorCode } from '@wharf/errors';

/** Has the name of the error (docs/errors.md) in an answer that is one. Names stay; the texts of messages may change. */
export const ERROR_NAME_HEADER = 'X-Error-Code';

/** Adds the error's name to an answer that has not begun. */
export function nameError(response: ServerResponse, { code }: { readonly code: ErrorCode }): void {
  if (!response.headersSent) response.setHeader(ERROR_NAME_HEADER, code);
}
