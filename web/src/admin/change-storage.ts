import { ApiError, call } from '../api/call.ts';
import { firstValues, type Item, toInput, type Values, valuesFrom, withPresent } from './item-values.ts';
import type { Storage } from './records.ts';

/**
 * Saves a storage with changes, on what is saved by now: since the page read it, its driver may have renewed a token, whose old one is worth nothing.
 *
 * @param change what is other, by what is saved. @throws ApiError
 */
export async function changeStorage(id: number, change: (present: Storage) => Partial<Storage>): Promise<void> {
  const present = await call('/api/admin/storage/get', { id });
  if (present === null) throw new ApiError(500, 'the storage is gone');
  await call('/api/admin/storage/update', { ...present, ...change(present) });
}

/** What a storage's form has: what all kinds have, and what its kind wants to know. */
export interface FormValues {
  readonly frame: Values;
  readonly own: Values;
}

interface Items {
  readonly common: readonly Item[];
  readonly additional: readonly Item[];
}

/** What the form of a storage begins with; of a new one without it. */
export function openedForm({ common, additional }: Items, saved: Storage | undefined): FormValues {
  if (!saved) return { frame: { ...firstValues(common), mount_path: '/' }, own: firstValues(additional) };
  return { frame: valuesFrom(common, { ...saved }), own: valuesFrom(additional, itemsOf(saved.addition)) };
}

/** What a form changes of a storage: what was entered since it was opened. The rest stays as it is saved by now, as somebody else may have changed it. */
export function editedStorage({ common, additional }: Items, opened: FormValues, form: FormValues, present: Storage): Partial<Storage> {
  const frame = withPresent(common, opened.frame, form.frame, { ...present });
  const own = withPresent(additional, opened.own, form.own, itemsOf(present.addition));
  return {
    ...toInput(common, frame),
    mount_path: String(frame['mount_path'] ?? present.mount_path),
    addition: additionWith(additional, own, present.addition),
  };
}

/** Adds the storage of a new form. @throws ApiError */
export async function createStorage(
  driver: Items & { readonly config: { readonly name: string } },
  { frame, own }: FormValues,
): Promise<void> {
  const { common, additional, config } = driver;
  const addition = additionWith(additional, own, '{}');
  await call('/api/admin/storage/create', {
    ...toInput(common, frame),
    mount_path: String(frame['mount_path']),
    driver: config.name,
    addition,
  });
}

/** The items of a storage's kind, as they are saved with them. */
export function itemsOf(addition: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(addition);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Saved items with those of a form. */
export const additionWith = (items: readonly Item[], values: Values, saved: string): string =>
  JSON.stringify({ ...itemsOf(saved), ...toInput(items, values) });
