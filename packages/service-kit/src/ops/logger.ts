import { pino } from 'pino';

export type Logger = pino.Logger;

/** Texts of an error are cut here: some libraries put all that was wrong into one message. */
const MAX_TEXT = 4_000;

/** An error as it is logged: its texts short, and without the lists that zod hangs on it. @internal exported for its test */
export function shortError(error: Error): Record<string, unknown> {
  const { issues: _issues, ...rest } = pino.stdSerializers.err(error);
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, MAX_TEXT) : value]),
  );
}

/**
 * JSON lines on standard output. Bodies are never logged; what may hold a credential is cut out by name as a second line of defence.
 *
 * @param ids what each line is to carry beside what it is given
 */
export function createLogger(service: string, level: string, ids?: () => object): Logger {
  return pino({
    level,
    ...(ids && { mixin: ids }),
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: shortError },
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['password', 'token', 'secret', 'authorization', '*.password', '*.token', '*.secret', '*.authorization'],
      censor: '[redacted]',
    },
  });
}
