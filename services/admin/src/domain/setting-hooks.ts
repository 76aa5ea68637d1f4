import { MAX_SEED_MINUTES, type SettingDefinition } from '@wharf/models';
import { parseJson } from '@wharf/pace';
import { findBadPattern } from './pattern-lines.ts';
import { storedKeyOf } from './setting-items.ts';

/** More patterns than this are not used for masking (service-kit). */
const MAX_PRIVACY_PATTERNS = 50;
const INTEGER_KEYS = /_depth$/;
const COUNT_KEYS = /_threads_num$/;
/** Beyond some ten thousand years the time of a link is no longer one that is read. */
const MAX_LINK_HOURS = 100_000_000;
const NO_INTEGER = 'must be an integer';
/** Stands for ourselves when an address is looked at. */
const OURSELVES = 'http://ourselves.invalid/';

type Hook = (value: string) => string | undefined;

/** Checks of single settings; an answer is the reason of a refusal. */
const HOOKS: Readonly<Record<string, Hook>> = {
  privacy_regs(value) {
    const bad = findBadPattern(value, MAX_PRIVACY_PATTERNS);
    return bad && `${bad.line} is illegal: ${bad.reason}`;
  },
  filename_char_mapping: (value) => (isTextMap(parseJson(value)) ? undefined : 'must be a JSON object of texts'),
  multipart_chunk_size: (value) =>
    /^\+?0*[1-9]\d{0,8}$/.test(value) ? undefined : `multipart chunk size must be a positive integer (MB), got "${value}"`,
  external_previews: requireJson,
  iframe_previews: requireJson,
  default_page_size: (value) => (/^\d{1,9}$/.test(value) && Number(value) > 0 ? undefined : 'must be a positive integer'),
  link_expiration: (value) =>
    isNumber(value) && Number(value) >= 0 && Number(value) <= MAX_LINK_HOURS
      ? undefined
      : `must be a number of hours, 0 to ${MAX_LINK_HOURS}`,
  favicon: (value) => (isWebAddress(value, OURSELVES) ? undefined : 'must be an http or https address, or a path'),
  rpcdl_uri: requireWebAddress,
  torrent_url: requireWebAddress,
  torrent_seedtime: requireSeedTime,
  transmission_seedtime: requireSeedTime,
  transmission_uri: requireWebAddress,
};

/** Why a setting cannot take this value; undefined when it can. */
export function findProblem(definition: SettingDefinition, value: string): string | undefined {
  if (definition.type === 'select' && value !== definition.value && !(definition.options ?? '').split(',').includes(value))
    return `must be one of ${definition.options}`;
  const hook = HOOKS[storedKeyOf(definition.key)];
  if (hook) return hook(value);
  if (definition.type === 'bool') return value === 'true' || value === 'false' ? undefined : 'must be true or false';
  if (definition.type !== 'number') return undefined;
  if (COUNT_KEYS.test(definition.key)) return /^0*[1-9]\d{0,2}$/.test(value.trim()) ? undefined : 'must be a number from 1 to 999';
  if (INTEGER_KEYS.test(definition.key)) return /^[+-]?\d{1,15}$/.test(value.trim()) ? undefined : NO_INTEGER;
  return isNumber(value) ? undefined : 'must be a number';
}

function isNumber(value: string): boolean {
  return value.trim() !== '' && Number.isFinite(Number(value));
}

/** Less than 0 never removes. */
function requireSeedTime(value: string): string | undefined {
  if (!/^[+-]?\d+$/.test(value.trim())) return NO_INTEGER;
  return Math.abs(Number(value)) <= MAX_SEED_MINUTES
    ? undefined
    : `must be a number of minutes, ${MAX_SEED_MINUTES} at most; less than 0 never removes`;
}

/** Empty: the tool is not used. */
function requireWebAddress(value: string): string | undefined {
  return value.trim() === '' || isWebAddress(value) ? undefined : 'must be an http or https address';
}

function isWebAddress(value: string, base?: string): boolean {
  const url = URL.parse(value, base);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
}

function requireJson(value: string): string | undefined {
  return value.trim() === '' || parseJson(value) !== undefined ? undefined : 'must be JSON';
}

function isTextMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === 'string');
}
