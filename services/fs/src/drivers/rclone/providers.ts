import { z } from 'zod';
import type { OptionChoice } from '../../driver-contract/driver-options.ts';
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
  /** Values that it often has. */
  readonly choices: readonly OptionChoice[];
  /** It has no others. */
  readonly isExclusive: boolean;
}

/** A type of remote. */
export interface Provider {
  /** Without spaces: `s3`, `gcs`. */
  readonly type: string;
  readonly label: string;
  /**
   * Each name once, though rclone may have it for each vendor.
   * @param vendor the option `provider`: what is there for it, all where it is empty, but then without choices that are of one vendor. Absent: all, with
   * the choices of all
   */
  options(vendor?: string): readonly ProviderOption[];
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
  /** With HIDDEN in it rclone asks for it by itself, or never. */
  Hide: z.number().default(0),
  /** Vendors, as `matches` reads it. */
  Provider: z.string().default(''),
  Examples: z.array(z.object({ Value: z.string(), Help: z.string().default(''), Provider: z.string().default('') })).nullish(),
});
type GivenOption = z.output<typeof optionSchema>;
/** `fs.OptionHideConfigurator` of rclone. */
const HIDDEN = 2;
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
    options: (vendor) => mergeOptions(Options ?? [], vendor),
  }));
}

/** rclone has an option once for each vendor that has other examples of it. */
function mergeOptions(options: readonly GivenOption[], vendor: string | undefined): ProviderOption[] {
  const merged = new Map<string, ProviderOption>();
  for (const option of options) {
    if (!matches(option.Provider, vendor)) continue;
    const before = merged.get(option.Name);
    const choices = choicesOf(option, vendor);
    merged.set(option.Name, {
      name: option.Name,
      help: before?.help ?? option.Help,
      type: option.Type,
      default: option.DefaultStr,
      isPassword: option.IsPassword || (before?.isPassword ?? false),
      isRequired: option.Required && (before?.isRequired ?? true),
      isAdvanced: (option.Advanced || (option.Hide & HIDDEN) !== 0) && (before?.isAdvanced ?? true),
      choices: withoutRepeats([...(before?.choices ?? []), ...choices]),
      isExclusive: option.Exclusive && choices.length > 0 && (before?.isExclusive ?? true),
    });
  }
  return [...merged.values()];
}

function choicesOf({ Examples, Provider }: GivenOption, vendor: string | undefined): OptionChoice[] {
  return (Examples ?? [])
    .filter((example) => matches(example.Provider, vendor) && (vendor !== '' || (Provider === '' && example.Provider === '')))
    .map(({ Value, Help }) => ({ value: Value, help: Help }));
}

/** Of those with one value the first. */
function withoutRepeats(choices: readonly OptionChoice[]): OptionChoice[] {
  const byValue = new Map<string, OptionChoice>();
  for (const choice of choices) if (!byValue.has(choice.value)) byValue.set(choice.value, choice);
  return [...byValue.values()];
}

/** Whether something is there for a vendor, as `fs.MatchProvider` of rclone has it: vendors by commas, or after `!` those that are left out. */
function matches(vendors: string, vendor: string | undefined): boolean {
  if (vendors === '' || !vendor) return true;
  const isWithout = vendors.startsWith('!');
  return (
    vendors
      .slice(isWithout ? 1 : 0)
      .split(',')
      .includes(vendor) !== isWithout
  );
}
