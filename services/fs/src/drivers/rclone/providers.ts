import { z } from 'zod';
import { badAnswer } from '../../driver-contract/storage-error.ts';
import type { RcdProcess } from './rcd-process.ts';

/** An option of a type, as rclone describes it. */
export interface ProviderOption {
  readonly name: string;
  readonly help: string;
  /** rclone's name of the type of its values: `string`, `bool`, `int`, `SizeSuffix`, ... */
  readonly type: string;
  readonly default: string;
  readonly isPassword: boolean;
  readonly isRequired: boolean;
  readonly isAdvanced: boolean;
  /** The values that there are; empty: any. */
  readonly choices: readonly string[];
}

/** A type of remote. */
export interface Provider {
  /** Without spaces: `s3`, `gcs`. */
  readonly type: string;
  readonly label: string;
  /** Each name once, though rclone may have it for each vendor. */
  readonly options: readonly ProviderOption[];
}

const optionSchema = z.object({
  Name: z.string(),
  Help: z.string().default(''),
  Type: z.string().default('string'),
  DefaultStr: z.string().default(''),
  IsPassword: z.boolean().default(false),
  Required: z.boolean().default(false),
  Advanced: z.boolean().default(false),
  Exclusive: z.boolean().default(false),
  Examples: z.array(z.object({ Value: z.string() })).nullish(),
});
const schema = z.object({
  providers: z.array(z.object({ Name: z.string(), Prefix: z.string(), Description: z.string(), Options: z.array(optionSchema).nullish() })),
});

const known = new WeakMap<RcdProcess, Promise<readonly Provider[]>>();

/** All that a child knows, asked once. @param ask `config/providers` */
export function readProviders(process: RcdProcess, ask: () => Promise<unknown>): Promise<readonly Provider[]> {
  const kept = known.get(process);
  if (kept) return kept;
  const asked = ask().then(toProviders);
  known.set(process, asked);
  asked.catch(() => known.delete(process));
  return asked;
}

/** @internal for tests */
export function toProviders(answer: unknown): readonly Provider[] {
  const read = schema.safeParse(answer);
  if (!read.success) throw badAnswer('no providers', read.error);
  return read.data.providers.map(({ Prefix, Name, Description, Options }) => ({
    type: Prefix || Name,
    label: Description,
    options: mergeOptions(Options ?? []),
  }));
}

/** rclone has an option once for each vendor that has other examples of it. */
function mergeOptions(options: readonly z.output<typeof optionSchema>[]): ProviderOption[] {
  const merged = new Map<string, ProviderOption>();
  for (const option of options) {
    const before = merged.get(option.Name);
    const choices = option.Exclusive ? (option.Examples ?? []).map(({ Value }) => Value) : [];
    const isFree = before !== undefined && (before.choices.length === 0 || choices.length === 0);
    merged.set(option.Name, {
      name: option.Name,
      help: before?.help ?? option.Help,
      type: option.Type,
      default: option.DefaultStr,
      isPassword: option.IsPassword || (before?.isPassword ?? false),
      isRequired: option.Required && (before?.isRequired ?? true),
      isAdvanced: option.Advanced && (before?.isAdvanced ?? true),
      choices: isFree ? [] : [...new Set([...(before?.choices ?? []), ...choices])],
    });
  }
  return [...merged.values()];
}
