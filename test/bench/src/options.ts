import { parseArgs } from 'node:util';
import { REMOTE_NAMES, type RemoteName } from './remote-kinds.ts';

/**
 * `direct`: the five services, whose fs is asked for bytes without the gateway, as behind an ingress. `accel`: standalone behind an nginx that sends
 * files by itself.
 */
export const SHAPES = ['standalone', 'services', 'direct', 'accel'] as const;
export type Shape = (typeof SHAPES)[number];

export interface BenchOptions {
  /** Names of works; undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly shapes: readonly Shape[];
  readonly isQuick: boolean;
  readonly rounds: number;
  /** Each shape runs a second time, sending traces. */
  readonly isTraced: boolean;
  /** Folder for V8 CPU profiles of Wharf's processes, one per process, of the whole run. */
  readonly cpuProfileDir: string | undefined;
  /** Of the work `remote`: which kinds of storages. */
  readonly storages: readonly RemoteName[];
  /** What `remote` measures is written to what docs/drivers.md is made from. */
  readonly savesRemote: boolean;
}

/** @throws Error that says what is wrong with the command line. @param works what `--only` may name. */
export function parseOptions(args: readonly string[], works: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      shape: { type: 'string', default: SHAPES.join(',') },
      quick: { type: 'boolean', default: false },
      traced: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '3' },
      'cpu-prof': { type: 'string' },
      storage: { type: 'string', default: REMOTE_NAMES.join(',') },
      save: { type: 'boolean', default: false },
    },
  });
  const only = values.only === undefined ? undefined : chosen('only', values.only, works);
  const rounds = Number(values.rounds);
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number above 0');
  return {
    only,
    shapes: chosen('shape', values.shape, SHAPES),
    isQuick: values.quick,
    rounds,
    isTraced: values.traced,
    cpuProfileDir: values['cpu-prof'],
    storages: chosen('storage', values.storage, REMOTE_NAMES),
    savesRemote: values.save,
  };
}

/** Those that are named, in the order of all. */
function chosen<Name extends string>(option: string, text: string, all: readonly Name[]): Name[] {
  const wanted = text.split(',');
  const strange = wanted.find((name) => !all.some((each) => each === name));
  if (strange !== undefined) throw new Error(`--${option}: there is no ${strange}; there are ${all.join(', ')}`);
  return all.filter((each) => wanted.includes(each));
}
