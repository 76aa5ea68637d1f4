import type { Doc } from '../bson/value.ts';
import { AGGREGATE } from './aggregate-command.ts';
import { CommandError } from './command-error.ts';
import { FIND_AND_MODIFY } from './find-and-modify.ts';
import type { Handler } from './handler.ts';
import { READ_COMMANDS } from './read-commands.ts';
import { SCHEMA_COMMANDS } from './schema-commands.ts';
import { SERVER_COMMANDS } from './server-commands.ts';
import { WRITE_COMMANDS } from './write-commands.ts';

/** Every command that the store knows, by the name a client sends. */
const HANDLERS: ReadonlyMap<string, Handler> = new Map(
  Object.entries({
    ...SERVER_COMMANDS,
    ...READ_COMMANDS,
    ...WRITE_COMMANDS,
    ...SCHEMA_COMMANDS,
    findAndModify: FIND_AND_MODIFY,
    findandmodify: FIND_AND_MODIFY,
    aggregate: AGGREGATE,
  }),
);

/** @throws CommandError CommandNotFound */
export function findHandler(name: string): Handler {
  const handler = HANDLERS.get(name);
  if (!handler) throw new CommandError('CommandNotFound', `no such command: '${name}'`);
  return handler;
}

/** What a command is; undefined: none that the store knows. */
export function kindOf(body: Doc): Handler['kind'] | undefined {
  const [name] = Object.keys(body);
  return name === undefined ? undefined : HANDLERS.get(name)?.kind;
}
