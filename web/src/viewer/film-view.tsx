import { createResource, For, type JSX, onCleanup } from 'solid-js';
import { bytesOf } from '../files/actions.ts';
import type { Desk } from '../files/desk.ts';
import type { Entry } from '../files/sort-entries.ts';
import { decodeText } from './decode-text.ts';
import { subtitlesOf, toVtt } from './subtitles.ts';

/** More of subtitles is something else. */
const MAX_BYTES = 4_000_000;

interface Track {
  readonly label: string;
  /** Of a WebVTT file that the page has made. */
  readonly address: string;
}

/** A film, with the subtitles that lie beside it. */
export function FilmView(props: { desk: Desk; entry: Entry }): JSX.Element {
  const [tracks] = createResource(
    () => props.entry.name,
    () => readTracks(props.desk, props.entry),
  );
  onCleanup(() => {
    for (const { address } of tracks.latest ?? []) URL.revokeObjectURL(address);
  });
  return (
    // biome-ignore lint/a11y/useMediaCaption: these are those that there are.
    <video src={bytesOf(props.desk, props.entry)} controls autoplay playsinline aria-label={props.entry.name}>
      <For each={tracks()}>
        {({ label, address }, index) => <track kind="subtitles" label={label} src={address} default={index() === 0} />}
      </For>
    </video>
  );
}

async function readTracks(desk: Desk, film: Entry): Promise<Track[]> {
  const { listing } = desk;
  const beside = new Map<string, Entry>();
  for (let index = 0; index < listing.total(); index += 1) {
    const entry = listing.at(index);
    if (entry && !entry.is_dir && entry.size <= MAX_BYTES) beside.set(entry.name, entry);
  }
  const tracks = subtitlesOf(film.name, beside.keys()).map(async ({ name, label }): Promise<Track | undefined> => {
    const entry = beside.get(name);
    const answer = entry && (await fetch(bytesOf(desk, entry, 'p')));
    if (!answer?.ok) return undefined;
    const text = toVtt(decodeText(new Uint8Array(await answer.arrayBuffer())));
    return { label, address: URL.createObjectURL(new Blob([text], { type: 'text/vtt' })) };
  });
  const read = await Promise.allSettled(tracks);
  return read.flatMap((each) => (each.status === 'fulfilled' && each.value ? [each.value] : []));
}
