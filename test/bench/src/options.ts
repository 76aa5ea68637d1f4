import { parseArgs } from 'node:util';

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
    },
  });
  const only = values.only?.split(',');
  const unknown = only?.find((name) => !works.includes(name));
  if (unknown !== undefined) throw new Error(`--only: there is no ${unknown}; there are ${works.join(', ')}`);
  const wanted = values.shape.split(',');
  const strange = wanted.find((name) => !SHAPES.some((shape) => shape === name));
  if (strange !== undefined) throw new Error(`--shape: there is no ${strange}; there are ${SHAPES.join(', ')}`);
  const rounds = Number(values.rounds);
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number above 0');
  return {
    only,
    shapes: SHAPES.filter((shape) => wanted.includes(shape)),
    isQuick: values.quick,
    rounds,
    isTraced: values.traced,
    cpuProfileDir: values['cpu-prof'],
  };
}
