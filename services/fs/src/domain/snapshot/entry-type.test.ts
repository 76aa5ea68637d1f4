import { settingsFrom } from '@wharf/models';
import { expect, it } from 'vitest';
import { ENTRY_TYPE, extensionOf, typeOfName } from './entry-type.ts';

const settings = settingsFrom(undefined);

it.each([
  ['a.mp3', ENTRY_TYPE.audio],
  ['a.MKV', ENTRY_TYPE.video],
  ['a.b.Jpeg', ENTRY_TYPE.image],
  ['notes.md', ENTRY_TYPE.text],
  ['.gitignore', ENTRY_TYPE.text],
  ['archive.zip', ENTRY_TYPE.unknown],
  ['md', ENTRY_TYPE.unknown],
  ['name.', ENTRY_TYPE.unknown],
])('%s is of type %i', (name, type) => {
  expect(typeOfName(name, settings)).toBe(type);
});

it('an extension in two lists counts for audio first, then video, image and text', () => {
  const item = (key: string, value: string) => ({ key, value, help: '', type: 'text', options: '', group: 3, flag: 1 });
  const mixed = settingsFrom({
    _id: 'settings',
    revision: 1,
    items: [item('audio_types', ' X ,y'), item('video_types', 'x,z'), item('text_types', 'z')],
  });
  expect(['a.x', 'a.z'].map((name) => typeOfName(name, mixed))).toEqual([ENTRY_TYPE.audio, ENTRY_TYPE.video]);
});

it.each([
  ['a.TXT', 'txt'],
  ['a', ''],
  ['a.', ''],
  ['.hidden', 'hidden'],
])('the extension of %s is %j', (name, extension) => {
  expect(extensionOf(name)).toBe(extension);
});
