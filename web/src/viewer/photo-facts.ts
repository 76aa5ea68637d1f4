import { locale } from '../i18n/i18n.ts';
import { askThread } from './ask-thread.ts';
import type { PhotoFields } from './photo-worker.ts';
import workerAddress from './photo-worker.ts?worker&url';
import { readPart } from './read-part.ts';

/** What a camera wrote into a picture, in words; what it did not write is absent. */
export interface PhotoFacts {
  readonly photoTaken?: string;
  readonly photoCamera?: string;
  readonly photoLens?: string;
  readonly photoExposure?: string;
  readonly photoSize?: string;
  readonly photoPlace?: string;
}

/** Cameras write it at the beginning; a preview that stands before it has 64 KB at most. */
const HEAD_BYTES = 262_144;

/** Reads the beginning of a picture. @returns undefined where there is nothing to tell, where it takes too long, or where the bytes cannot be read from here */
export async function readPhotoFacts(address: string): Promise<PhotoFacts | undefined> {
  try {
    const head = (await readPart(address, 0, HEAD_BYTES)).bytes.buffer;
    const found = await askThread<PhotoFields>(workerAddress, head, [head]);
    return found && factsOf(found);
  } catch {
    return undefined;
  }
}

/** The facts in words. Whoever made the file wrote these values: each is taken only as what it should be. */
function factsOf(found: Readonly<Record<string, unknown>>): PhotoFacts {
  const text = (name: string) => (typeof found[name] === 'string' ? found[name].trim().slice(0, MAX_TEXT) : '');
  const number = (name: string) => (typeof found[name] === 'number' && Number.isFinite(found[name]) ? found[name] : undefined);
  const show = (value: number, digits = 1) => value.toLocaleString(locale(), { maximumFractionDigits: digits });
  const [maker, model] = [text('Make'), text('Model')];
  const [width, height, latitude, longitude] = ['ExifImageWidth', 'ExifImageHeight', 'latitude', 'longitude'].map(number);
  const [time, aperture, iso, focal] = ['ExposureTime', 'FNumber', 'ISO', 'FocalLength'].map(number);
  const exposure = [
    time && time > 0 ? `${time < 0.5 ? `1/${show(1 / time, 0)}` : show(time)} s` : '',
    aperture ? `ƒ/${show(aperture)}` : '',
    iso ? `ISO ${Math.round(iso)}` : '',
    focal ? `${show(focal)} mm` : '',
  ];
  const facts = {
    photoTaken: showCameraTime(text('DateTimeOriginal')),
    photoCamera: model.toLowerCase().startsWith(maker.toLowerCase()) ? model : `${maker} ${model}`.trim(),
    photoLens: text('LensModel'),
    photoExposure: exposure.filter(Boolean).join(' · '),
    photoSize: width && height ? `${width} × ${height}` : '',
    photoPlace: latitude === undefined || longitude === undefined ? '' : `${show(latitude, 5)}, ${show(longitude, 5)}`,
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== ''));
}

const MAX_TEXT = 120;

/** The camera's clock, whose zone nobody knows: shown as it stood. */
function showCameraTime(written: string): string {
  const found = /^(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)/.exec(written);
  const moment = new Date(found ? `${found[1]}-${found[2]}-${found[3]}T${found[4]}Z` : Number.NaN);
  return Number.isNaN(moment.getTime())
    ? ''
    : moment.toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });
}
