import { readSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { ResizeFit, Transformer } from '@napi-rs/image';
import { decodeFirstFrame, isGif } from './gif-frame.ts';
import { MAX_THUMBNAIL_HEIGHT, THUMBNAIL_WIDTH } from './thumbnail-limits.ts';

/** What goes to the process, the image itself by its standard input, and what comes back. */
export interface PictureRequest {
  readonly id: number;
  readonly sizeBytes: number;
}
export interface PictureAnswer {
  readonly id: number;
  /** Absent when the picture could not be read. */
  readonly png?: Uint8Array;
}

const NICE = 10;
/** Its number. As `process.stdin` Node would read it, too. */
const STDIN = 0;

/** The other end of `picture-maker.ts`: a process of its own, since a decoder that goes astray can only be ended with its process. */
function serve(): void {
  standBack();
  process.on('disconnect', () => process.exit());
  process.on('message', ({ id, sizeBytes }: PictureRequest) => {
    process.send?.({ id, ...shrink(readImage(sizeBytes)) } satisfies PictureAnswer);
  });
}

/** Waits for all of it: there is nothing else to do. */
function readImage(sizeBytes: number): Uint8Array {
  const image = new Uint8Array(sizeBytes);
  for (let filled = 0; filled < sizeBytes; ) {
    const count = readSync(STDIN, image, { offset: filled });
    if (count === 0) process.exit();
    filled += count;
  }
  return image;
}

function shrink(image: Uint8Array): Omit<PictureAnswer, 'id'> {
  try {
    const size = { width: THUMBNAIL_WIDTH, height: MAX_THUMBNAIL_HEIGHT, fit: ResizeFit.Inside };
    // Upright first: by the orientation that a camera noted.
    return { png: open(image).rotate().fastResize(size).pngSync() };
  } catch {
    return {};
  }
}

function open(image: Uint8Array): Transformer {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  if (!isGif(bytes)) return new Transformer(bytes);
  const { rgba, width, height } = decodeFirstFrame(bytes);
  return Transformer.fromRgbaPixels(rgba, width, height);
}

/** Gives way to other processes: they get the processor first, and this one is killed first when memory is short. */
function standBack(): void {
  try {
    setPriority(NICE);
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Where the system has no such thing.
  }
}

serve();
