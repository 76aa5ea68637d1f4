import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { MAX_PAIRS, tooManyPairs } from '../api/parse-pairs.ts';

/** What the parser gets at a time, so that others have their turn in between. */
const SLICE_BYTES = 64 * 1024;
/** The most headers of one part. A form field needs only a few. */
const MAX_HEADER_PAIRS = 50;

/**
 * The text fields of a multipart body; files are for the data plane.
 *
 * @throws AppError INVALID_ARGUMENT: it is none, or has more than MAX_PAIRS parts
 */
export async function parseMultipart(bytes: Buffer, contentType: string): Promise<[string, string][]> {
  const fields: [string, string][] = [];
  let refusal: AppError | undefined;
  try {
    const parser = new Busboy({
      headers: { 'content-type': contentType } as BusboyHeaders,
      limits: { parts: MAX_PAIRS, fieldSize: bytes.length, headerPairs: MAX_HEADER_PAIRS },
    });
    const finished = new Promise<void>((resolve, reject) => parser.once('finish', resolve).once('error', reject));
    // Whoever is told of it awaits it below.
    finished.catch(() => undefined);
    parser.on('field', (name, value) => fields.push([name, value]));
    parser.on('file', (_name, file) => file.on('error', () => undefined).resume());
    parser.once('partsLimit', () => {
      refusal = tooManyPairs();
    });
    const pace = createPace();
    for (let from = 0; from < bytes.length && !refusal; from += SLICE_BYTES) {
      parser.write(bytes.subarray(from, from + SLICE_BYTES));
      await pace.step();
    }
    if (!refusal) {
      parser.end();
      await finished;
    }
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'the body is not a valid form', { cause });
  }
  if (refusal) throw refusal;
  return fields;
}
