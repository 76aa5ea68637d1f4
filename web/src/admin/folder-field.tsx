import { createResource, createUniqueId, For, type JSX } from 'solid-js';
import { call } from '../api/call.ts';
import { cleanPath, parentOf } from '../files/tree-path.ts';

/** A path of the whole tree; folders are suggested as it is written. */
export function FolderField(props: { label: string; hint: string; value: string; onInput: (value: string) => void }): JSX.Element {
  const id = createUniqueId();
  const [folders] = createResource(
    () => parentOf(props.value === '' ? '/' : props.value),
    async (path) =>
      (await call('/api/fs/dirs', { path, force_root: true }).catch(() => [])).map(({ name }) => cleanPath(`${path}/${name}`)),
  );
  const found = () => (folders.state === 'ready' || folders.state === 'refreshing' ? folders.latest : []);
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        class="input"
        list={`${id}-list`}
        value={props.value}
        required
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-hint`}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      <datalist id={`${id}-list`}>
        <For each={found()}>{(path) => <option value={path} />}</For>
      </datalist>
      <p id={`${id}-hint`} class="note">
        {props.hint}
      </p>
    </div>
  );
}
