import { createResource, For, type JSX, onCleanup } from 'solid-js';
import { bytesOf } from '../files/actions.ts';
import type { Desk } from '../files/desk.ts';
import type { Entry } from '../files/sort-entries.ts';
import { createTracks, type Track } from './read-tracks.ts';
import { subtitlesOf } from './subtitles.ts';

/** More of subtitles is something else. */
const MAX_BYTES = 4_000_000;

/** A film, with the subtitles that lie beside it. */
export function FilmView(props: { desk: Desk; entry: Entry }): JSX.Element {
  const read = createTracks();
  const [tracks] = createResource(
    () => props.entry.name,
    () => read.read(subtitlesBeside(props.desk, props.entry)),
  );
  onCleanup(read.letGo);
  return (
    // biome-ignore lint/a11y/useMediaCaption: these are those that there are.
    <video src={bytesOf(props.desk, props.entry)} controls autoplay playsinline aria-label={props.entry.name}>
      <For each={tracks()}>
        {({ label, address }, index) => <track kind="subtitles" label={label} src={address} default={index() === 0} />}
      </For>
    </video>
  );
}

function subtitlesBeside(desk: Desk, film: Entry): Track[] {
  const { listing } = desk;
  const beside = new Map<string, Entry>();
  for (let index = 0; index < listing.total(); index += 1) {
    const entry = listing.at(index);
    if (entry && !entry.is_dir && entry.size <= MAX_BYTES) beside.set(entry.name, entry);
  }
  return subtitlesOf(film.name, beside.keys()).flatMap(({ name, label }) => {
    const entry = beside.get(name);
    return entry ? [{ label, address: bytesOf(desk, entry, 'p') }] : [];
  });
}
