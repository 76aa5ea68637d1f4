import { type MessageKey, showPeriod, showSize, t } from '../i18n/i18n.ts';
import { BAND_ENDS, type Group } from './group-entries.ts';

const KINDS: Readonly<Record<string, MessageKey>> = {
  folder: 'kindFolder',
  image: 'kindImage',
  video: 'kindVideo',
  audio: 'kindAudio',
  pdf: 'kindPdf',
  document: 'kindDocument',
  table: 'kindTable',
  slides: 'kindSlides',
  text: 'kindText',
  code: 'kindCode',
  archive: 'kindArchive',
  program: 'kindProgram',
  font: 'kindFont',
};

/** What the entries of a group have in common, in the viewer's words. */
export function groupTitle({ grouping, key }: Group): string {
  if (grouping === 'kind') return t(KINDS[key] ?? 'kindFile');
  if (grouping === 'letter') return key === '0' ? '0–9' : key === '#' ? t('otherSigns') : String(key);
  if (grouping === 'size') return bandTitle(Number(key));
  if (key === 0) return t('timeUnknown');
  const date = Number(key);
  return showPeriod(new Date(Math.floor(date / 10_000), (Math.floor(date / 100) % 100) - 1, date % 100), grouping);
}

function bandTitle(band: number): string {
  if (band <= 0) return t(band < 0 ? 'kindFolder' : 'sizeNothing');
  const [from, to] = [BAND_ENDS[band - 1] ?? 0, BAND_ENDS[band]];
  if (band === 1) return t('sizeBelow', { size: showSize(to ?? 0) });
  return to === undefined ? t('sizeAbove', { size: showSize(from) }) : t('sizeBetween', { from: showSize(from), to: showSize(to) });
}
