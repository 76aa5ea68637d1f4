import { pino } from 'pino';

export type Logger = pino.Logger;

/** Texts of an error are cut here: some libraries put all that was wrong into one message. */
const MAX_TEXT = 4_000;
/** Of lines that could not be written so much is kept to be written later, in bytes; with more, all of it is given up. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024;

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
  return pino(
    {
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
    },
    openOutput(),
  );
}

/**
 * Standard output may be a file on a disk that is full: lines are lost then, and nothing ends over it. pino's own stream tries nothing more once it keeps
 * as much as it may, so another one takes its place and begins with the line that was too much. It is not handed out either: at a fatal line pino would
 * wait in it for room, and the process would hang that was to end.
 */
function openOutput(): pino.DestinationStream {
  const open = () => {
    const opened = pino.destination({ dest: process.stdout.fd, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
    opened.on('error', () => undefined);
    opened.on('drop', (line: string) => {
      output = open();
      output.write(line);
    });
    return opened;
  };
  let output = open();
  return { write: (line) => void output.write(line) };
}
