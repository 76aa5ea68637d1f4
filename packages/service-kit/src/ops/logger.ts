import { pino } from 'pino';

export type Logger = pino.Logger;

/**
 * JSON lines on standard output. Bodies are never logged; what may hold a credential is cut out by name as a second line of defence.
 */
export function createLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['password', 'token', 'secret', 'authorization', '*.password', '*.token', '*.secret', '*.authorization'],
      censor: '[redacted]',
    },
  });
}
