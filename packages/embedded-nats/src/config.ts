import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { AppError } from '@wharf/errors';

export interface EmbeddedNatsConfig {
  /** 0: the kernel chooses. */
  readonly port: number;
  readonly token: string;
}

/**
 * Reads `--port` (default 0) and the token: WHARF_EMBEDDED_NATS_TOKEN, or the content of the file that `--token-file` names. It is no argument
 * itself, because every user of the machine can read those.
 *
 * @throws AppError INVALID_ARGUMENT
 * @internal for its test
 */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv): EmbeddedNatsConfig {
  const { values } = parseArgs({ args: [...args], options: { port: { type: 'string', default: '0' }, 'token-file': { type: 'string' } } });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new AppError('INVALID_ARGUMENT', '--port must be a number from 0 to 65535');
  const file = values['token-file'];
  const token = file === undefined ? env['WHARF_EMBEDDED_NATS_TOKEN'] : readFileSync(file, 'utf8').trim();
  if (!token) throw new AppError('INVALID_ARGUMENT', 'a token is needed: set WHARF_EMBEDDED_NATS_TOKEN or give --token-file');
  return { port, token };
}

/** The configuration of this process, from its arguments and environment. @throws AppError INVALID_ARGUMENT */
export const readProcessConfig = (): EmbeddedNatsConfig => readConfig(process.argv.slice(2), process.env);
