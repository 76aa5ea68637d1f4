import type { Settings } from '@wharf/models';

/** The family's type codes. */
export const ENTRY_TYPE = { unknown: 0, folder: 1, video: 2, audio: 3, text: 4, image: 5 } as const;

/** Tested in this order. */
const BY_SETTING = [
  ['audio_types', ENTRY_TYPE.audio],
  ['video_types', ENTRY_TYPE.video],
  ['image_types', ENTRY_TYPE.image],
  ['text_types', ENTRY_TYPE.text],
] as const;

/** What kind of file a name stands for, by its extension and the lists in the settings. */
export function typeOfName(name: string, settings: Settings): number {
  const extension = extensionOf(name);
  return BY_SETTING.find(([key]) => settings.list(key).has(extension))?.[1] ?? ENTRY_TYPE.unknown;
}

/** Lower-cased text after the last dot; empty when there is no dot. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1).toLowerCase();
}
