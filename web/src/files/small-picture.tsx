import { createSignal, type JSX, Show } from 'solid-js';
import type { Desk } from './desk.ts';
import { KindIcon } from './kind-icon.tsx';
import { pictureOf } from './picture-of.ts';
import type { Entry } from './sort-entries.ts';

/**
 * What is shown unasked has so many pixels at most, as a shot of a 4K screen has them: a browser unpacks four bytes of each, of all pictures on the screen,
 * however short their files are.
 */
const MAX_PIXELS = 9_000_000;

/** The small picture of an entry where there is one, else what kind of file it is. */
export function SmallPicture(props: { desk: Desk; entry: Entry; iconSize: number }): JSX.Element {
  const address = () => pictureOf(props.desk, props.entry);
  const [fine, setFine] = createSignal<string>();
  const [refused, setRefused] = createSignal<string>();
  return (
    <Show when={address() !== refused() && address()} fallback={<KindIcon entry={props.entry} size={props.iconSize} />}>
      {(shown) => (
        <img
          src={shown()}
          alt=""
          loading="lazy"
          decoding="async"
          draggable={false}
          // Until its size is known it is not to be seen, and so not unpacked.
          style={{ visibility: fine() === shown() ? 'visible' : 'hidden' }}
          // Both come for an earlier address too, after the picture was refused: nothing may be asked of what was shown then.
          onLoad={({ currentTarget: picture }) => {
            const isLarge = picture.naturalWidth * picture.naturalHeight > MAX_PIXELS;
            (isLarge ? setRefused : setFine)(picture.getAttribute('src') ?? '');
          }}
          onError={({ currentTarget: picture }) => setRefused(picture.getAttribute('src') ?? '')}
        />
      )}
    </Show>
  );
}
