import { decodeText } from './decode-text.ts';
import { toVtt } from './subtitles.ts';

/** Subtitles of a film, and where they are. */
export interface Track {
  readonly label: string;
  readonly address: string;
}

/** Reads subtitles into WebVTT files of the page, which takes memory until they are let go of: those that still come, too. */
export function createTracks() {
  let reading = new AbortController();
  let made: string[] = [];
  const letGo = () => {
    reading.abort();
    for (const address of made) URL.revokeObjectURL(address);
    made = [];
  };
  return {
    letGo,
    /** Lets go of those before. @returns those that can be read, by addresses of the page */
    async read(wanted: readonly Track[]): Promise<Track[]> {
      letGo();
      reading = new AbortController();
      const { signal } = reading;
      const tracks = wanted.map(async ({ label, address: from }): Promise<Track | undefined> => {
        const answer = await fetch(from, { signal });
        if (!answer.ok) return undefined;
        const text = toVtt(decodeText(new Uint8Array(await answer.arrayBuffer())));
        signal.throwIfAborted();
        const address = URL.createObjectURL(new Blob([text], { type: 'text/vtt' }));
        made.push(address);
        return { label, address };
      });
      const read = await Promise.allSettled(tracks);
      return read.flatMap((each) => (each.status === 'fulfilled' && each.value ? [each.value] : []));
    },
  };
}
