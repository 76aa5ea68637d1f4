import { isUtf8 } from 'node:buffer';
import type { CryptSettings } from './config.ts';
import { createEme } from './eme.ts';
import type { CryptKeys } from './keys.ts';
import { NAME_CODECS } from './name-codecs.ts';
import { createObfuscation } from './obfuscated-names.ts';

/** The names of entries as they are shown, and as the folder below has them. */
export interface CryptNames {
  /** Whether folders are turned as files are. */
  readonly isAlike: boolean;
  /** Whether a file and a folder of this name have one name below, too: versions of files stay readable, and those of folders do not. */
  isOne(name: string): boolean;
  /** The longest name that is kept, of files and folders, where the folder below keeps one of `maxBytes`. */
  maxNameBytes(maxBytes: number): number;
  /** Undefined: below it would be another one's. */
  ofFile(name: string): string | undefined;
  ofFolder(name: string): string;
  /** Undefined: not one of ours. */
  shownFile(name: string): string | undefined;
  shownFolder(name: string): string | undefined;
}

const BLOCK = 16;
/** `-v2006-01-02-150405-000` at the end, before the ending: a version of a file, which stays readable. */
const VERSION = /^(.*)(-v(\d{4})-(\d{2})-(\d{2})-(\d{2})(\d{2})(\d{2})-\d{3})(\.[^.]*)?$/s;
/** Bytes of a name by bytes of what is encoded. */
const EXPANSION = { base32: 8 / 5, base64: 4 / 3, base32768: 16 / 5 } as const;
/** What stands before a hidden name: `255.` at most. */
const HIDDEN_PREFIX = 4;

export function createNames(
  keys: CryptKeys,
  settings: Pick<CryptSettings, 'mode' | 'encryptsFolders' | 'encoding' | 'suffix'>,
): CryptNames {
  const { mode, encryptsFolders, suffix } = settings;
  const { hide, show } = mode === 'standard' ? encrypted(keys, settings) : createObfuscation(keys.name);
  const asItIs = (name: string) => name;
  const files =
    mode === 'off'
      ? {
          ofFile: (name: string) => name + suffix,
          shownFile: (name: string) => (name.endsWith(suffix) && name !== suffix ? name.slice(0, -suffix.length) : undefined),
        }
      : withVersions(hide, show);
  const ofFolder = encryptsFolders ? hide : asItIs;
  return {
    isAlike: encryptsFolders,
    isOne: (name) => encryptsFolders && (!VERSION.test(name) || files.ofFile(name) === ofFolder(name)),
    maxNameBytes(maxBytes) {
      if (mode === 'off') return maxBytes - suffix.length;
      if (mode === 'obfuscate') return maxBytes - HIDDEN_PREFIX;
      return Math.floor(Math.floor(maxBytes / EXPANSION[settings.encoding]) / BLOCK) * BLOCK - 1;
    },
    ...files,
    ofFolder,
    shownFolder: encryptsFolders ? show : asItIs,
  };
}

/**
 * Names of files, of which some have a version that stays readable. A version is put before the ending, wherever it was: `a.txt-v…` would become the file `a-v….txt`, and so
 * would what happens to look like a version once it is turned. A name below belongs to the one that is shown for it, and to no other.
 */
function withVersions(
  hide: (name: string) => string,
  show: (name: string) => string | undefined,
): Pick<CryptNames, 'ofFile' | 'shownFile'> {
  const shownFile = (name: string) => besideVersion(name, show) ?? show(name);
  return {
    shownFile,
    ofFile(name) {
      const beside = besideVersion(name, hide);
      if (beside !== undefined && shownFile(beside) === name) return beside;
      const whole = hide(name);
      return beside === undefined && !VERSION.test(whole) ? whole : shownFile(whole) === name ? whole : undefined;
    },
  };
}

function encrypted(keys: CryptKeys, { encoding }: Pick<CryptSettings, 'encoding'>) {
  const eme = createEme(keys.name, keys.tweak);
  const codec = NAME_CODECS[encoding];
  return {
    hide: (name: string) => codec.encode(eme.encrypt(padded(Buffer.from(name)))),
    show(text: string): string | undefined {
      const bytes = codec.decode(text);
      if (bytes === undefined || bytes.byteLength === 0 || bytes.byteLength % BLOCK !== 0 || bytes.byteLength > 2048) return undefined;
      const name = unpadded(eme.decrypt(bytes));
      // What is no UTF-8 could not be asked for by its name again.
      return name === undefined || !isUtf8(name) ? undefined : name.toString('utf8');
    },
  };
}

/** Turns a name without the version at its end. Undefined where there is none. */
function besideVersion(name: string, turn: (name: string) => string | undefined): string | undefined {
  const [, stem, version, year, month, day, hour, minute, second, ending = ''] = VERSION.exec(name) ?? [];
  if (stem === undefined || version === undefined || stem + ending === '') return undefined;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // The 31st of February is read as a day of March.
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return undefined;
  const turned = turn(stem + ending);
  if (turned === undefined) return undefined;
  const dot = turned.lastIndexOf('.');
  return dot === -1 ? turned + version : turned.slice(0, dot) + version + turned.slice(dot);
}

/** PKCS#7. */
function padded(bytes: Buffer): Buffer {
  const padding = BLOCK - (bytes.byteLength % BLOCK);
  return Buffer.concat([bytes, Buffer.alloc(padding, padding)]);
}

function unpadded(bytes: Buffer): Buffer | undefined {
  const padding = bytes.at(-1) ?? 0;
  if (padding === 0 || padding > BLOCK || !bytes.subarray(-padding).every((byte) => byte === padding)) return undefined;
  return bytes.byteLength === padding ? undefined : bytes.subarray(0, -padding);
}
