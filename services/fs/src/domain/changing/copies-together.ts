import { AppError } from '@wharf/errors';
import { unlessAborted } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { type Entry, type StorageDriver, supports, type WholeFile, type WholeWrite } from '../../driver-contract/storage-driver.ts';
import type { CopiedFile, FileCopy } from './copy-file.ts';
import type { Place } from './operations/operation.ts';

/** Larger files are copied by themselves. */
export const TOGETHER_BYTES = 64 * 1024;
/** Files of one call of a storage: a few milliseconds of its thread. */
const MOST_AT_ONCE = 16;

/** Copies of small files, of whatever tasks, and as patient as they are: those that are wanted in the same moment are read in one call, and stored in one. */
export interface CopiesTogether {
  /**
   * As `copyFile`. What ends one of them ends no other one.
   *
   * @param mayPublishUntil asked for this file alone, as in WholeWrite. @returns undefined: it is to be copied by itself
   */
  copy(copy: FileCopy, mayPublishUntil: WholeWrite['mayPublishUntil']): Promise<CopiedFile | undefined>;
}

/** Whether small files are read and stored together where they come from and go to. */
export function areCopiedTogether(from: Pick<Place, 'driver'>, to: Pick<Place, 'driver'>): boolean {
  return supports(from.driver, 'readMany') && supports(to.driver, 'writeMany');
}

export function createCopiesTogether(): CopiesTogether {
  const readings = new WeakMap<StorageDriver, (file: MountPath) => Promise<WholeFile | undefined>>();
  const writings = new WeakMap<StorageDriver, (write: WholeWrite) => Promise<Entry | AppError>>();
  return {
    async copy({ from, to, overwrite, signal, onOpened, onBytes }, mayPublishUntil) {
      const [source, target] = [from.driver, to.driver];
      if (!supports(source, 'readMany') || !supports(target, 'writeMany')) return undefined;
      const read = kept(readings, source, () =>
        gathered((files: readonly MountPath[]) => source.readMany(files, { isPatient: true, maxBytes: TOGETHER_BYTES })),
      );
      const write = kept(writings, target, () => gathered((files: readonly WholeWrite[]) => target.writeMany(files, { isPatient: true })));
      const file = await unlessAborted(signal, read(from.path));
      // One that changes while it is read, or whose content is to be held to a hash, is looked after by who reads and writes it as a stream.
      if (!file || file.entry.hashes || file.entry.sizeBytes !== file.bytes.byteLength) return undefined;
      await onOpened?.(file.bytes.byteLength);
      let refusal: { readonly error: unknown } | undefined;
      const ask = async () => {
        try {
          signal.throwIfAborted();
          return await mayPublishUntil();
        } catch (error) {
          refusal = { error };
          throw error;
        }
      };
      const { bytes: content, entry } = file;
      const stored = await write({ file: to.path, content, overwrite, modifiedAt: entry.modifiedAt, mayPublishUntil: ask });
      if (AppError.is(stored)) throw refusal ? refusal.error : stored;
      onBytes?.(content.byteLength);
      return { source: entry, target: stored, readBytes: undefined };
    },
  };
}

function kept<Key extends object, Value>(values: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}

interface Waiting<Asked, Answer> {
  readonly asked: Asked;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** What is asked in one turn of the event loop goes in one call, or in several where it is much. @param ask answers in their order */
function gathered<Asked, Answer>(ask: (asked: readonly Asked[]) => Promise<readonly Answer[]>): (asked: Asked) => Promise<Answer> {
  let waiting: Waiting<Asked, Answer>[] = [];
  const askTogether = async (together: readonly Waiting<Asked, Answer>[]): Promise<void> => {
    try {
      const answers = await ask(together.map(({ asked }) => asked));
      for (const [index, { resolve }] of together.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  };
  const askAll = () => {
    const all = waiting;
    waiting = [];
    for (let start = 0; start < all.length; start += MOST_AT_ONCE) void askTogether(all.slice(start, start + MOST_AT_ONCE));
  };
  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject });
      if (waiting.length === 1) setImmediate(askAll);
    });
}
