import { AppError } from '@wharf/errors';
import type { z } from 'zod';
import type { DriverOption, OptionChoice } from '../../driver-contract/driver-options.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { type AllowedType, OPTIONS, SECRETS, TYPES } from './allowed.ts';
import { type RcdSource, RcloneClient, type RemoteWay } from './client.ts';
import { rcdSettings, type rcloneConfigSchema } from './config.ts';
import { isTaken, readNamed } from './parameters.ts';
import type { Provider, ProviderOption } from './providers.ts';
import { ownRcd } from './rcd.ts';
import { externalRcd } from './rclone.ts';

/** The option of rclone that says whose server it is: others are there for some vendors alone. */
const VENDOR = 'provider';
/** Has an item of its own, which is kept as rclone renews it. */
const TOKEN = 'token';
const TOKEN_ITEM = 'oauth_token';

/** What the form does not say more of than that it is there. */
const PLAIN = {
  help: '',
  default: '',
  choices: [],
  isExclusive: false,
  isRequired: false,
  isSecret: false,
  isAdvanced: false,
  isShaping: false,
} as const;

/** rclone's names of types of values. What is not here is a text. */
const VALUE_TYPES: Readonly<Record<string, DriverOption['type']>> = {
  bool: 'bool',
  int: 'number',
  int64: 'number',
  uint32: 'number',
  SizeSuffix: 'size',
  Duration: 'duration',
};
const TRISTATE: readonly OptionChoice[] = ['true', 'false', 'unset'].map((value) => ({ value, help: '' }));

/** Makes no remote: rclone is only asked what it knows. */
const NO_WAY: RemoteWay = {
  remote: () => Promise.reject(new AppError('INTERNAL', 'there is no remote')),
  failure: undefined,
  close: () => undefined,
};

/**
 * The types that there are, and the options of the one that is chosen, as the rclone that the storage uses knows them.
 *
 * @param own another than that of this process is given by tests only
 * @throws AppError FAILED_PRECONDITION: there is no rclone | STORAGE_UNAVAILABLE; INVALID_ARGUMENT, for the admin
 */
export async function readOptions(
  config: z.output<typeof rcloneConfigSchema>,
  { egress }: Pick<OpenContext, 'egress'>,
  own: RcdSource = ownRcd(egress),
): Promise<readonly DriverOption[]> {
  const named = [...readNamed('options', config.options), ...readNamed('secrets', config.secrets)];
  const vendor = named.find(([name]) => name === VENDOR)?.[1] ?? '';
  const rcd = rcdSettings(config);
  const client = new RcloneClient(NO_WAY, rcd ? externalRcd(rcd, egress) : own);
  try {
    return offeredOptions(await client.providers(), config.type, vendor);
  } finally {
    client.close();
  }
}

function offeredOptions(providers: readonly Provider[], type: string, vendor: string): readonly DriverOption[] {
  const known = providers.filter((provider) => Object.hasOwn(TYPES, provider.type));
  const types: DriverOption = {
    ...PLAIN,
    ...{ name: 'type', item: 'type', type: 'string', isExclusive: true, isRequired: true, isShaping: true },
    choices: known.map((provider) => ({ value: provider.type, help: provider.label })),
  };
  const allowed = TYPES[type];
  const chosen = known.find((provider) => provider.type === type);
  if (!allowed || !chosen) return [types];
  const told = chosen.options(vendor).flatMap((option) => describe(option, allowed));
  return [types, ...told];
}

/** None where it may not be given. */
function describe(option: ProviderOption, { usual, fixed = {} }: AllowedType): DriverOption[] {
  const { name, help, choices, isPassword, isExclusive, isRequired, isAdvanced } = option;
  const kind = OPTIONS.get(name);
  if (kind === undefined || Object.hasOwn(fixed, name)) return [];
  if (name === TOKEN) return [{ ...PLAIN, name: TOKEN_ITEM, item: TOKEN_ITEM, type: 'text', isSecret: true }];
  const isSecret = isPassword || SECRETS.has(name);
  const isTristate = option.type === 'Tristate';
  return [
    {
      name,
      item: isSecret ? 'secrets' : 'options',
      type: kind === 'lines' ? 'text' : (VALUE_TYPES[option.type] ?? 'string'),
      help,
      default: usual?.[name] ?? option.default,
      choices: isTristate ? TRISTATE : choices.filter(({ value }) => value !== '' && isTaken(name, value)),
      isExclusive: isTristate || isExclusive,
      isRequired,
      isSecret,
      isAdvanced,
      isShaping: name === VENDOR,
    },
  ];
}
