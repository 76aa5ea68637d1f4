/** The family's width of a thumbnail. */
export const THUMBNAIL_WIDTH = 144;
/** A very tall picture is made as high at most, and less wide. */
export const MAX_THUMBNAIL_HEIGHT = 1440;

/** Files that are larger get no thumbnail: they are held in memory while it is made. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** A picture that a storage has of a file: those of the family are of a few hundred pixels, and some 20 KB. */
export const MAX_STORAGE_PICTURE_BYTES = 2 * 1024 * 1024;

/** The largest picture that is decoded, by what its header says: a photo of 64 megapixels. */
export const MAX_DECODED_BYTES = 256 * 1024 * 1024;
export const MAX_PIXELS = 64_000_000;

/** Of pictures above this only one is decoded at a time. */
export const LARGE_PIXELS = 16_000_000;

/** What a process that makes thumbnails may hold in memory, in bytes: decoders hold a picture several times. Beyond it the process is ended. */
export const MAX_PROCESS_BYTES = 1024 * 1024 * 1024;

/** How long one picture may take, in milliseconds. */
export const MAKE_TIMEOUT_MS = 20_000;
