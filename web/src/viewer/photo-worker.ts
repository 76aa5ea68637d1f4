import { parse } from 'exifr';
import type { FromThread } from './ask-thread.ts';

/** What a camera wrote, by the names of its fields; undefined where nobody can make sense of it. */
export type PhotoFields = Readonly<Record<string, unknown>> | undefined;

const FIELDS = [
  ...['Make', 'Model', 'LensModel', 'DateTimeOriginal', 'ExposureTime', 'FNumber', 'ISO', 'FocalLength'],
  ...['ExifImageWidth', 'ExifImageHeight', 'GPSLatitude', 'GPSLongitude', 'GPSLatitudeRef', 'GPSLongitudeRef'],
];

const tell = (message: FromThread<PhotoFields>) => postMessage(message);

async function fieldsOf(head: ArrayBuffer): Promise<PhotoFields> {
  try {
    const found: unknown = await parse(head, { pick: FIELDS, reviveValues: false });
    return typeof found === 'object' && found !== null ? (found as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => void fieldsOf(data).then((answer) => tell({ answer })));
tell('ready');
