import { type JSX, onMount } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import type { Desk } from './desk.ts';
import type { Entry } from './sort-entries.ts';

/** The name of an entry while it is given another one: Enter renames, Escape leaves it. */
export function NameField(props: { desk: Desk; entry: Entry }): JSX.Element {
  let field!: HTMLInputElement;
  const { name, is_dir } = props.entry;
  // It may be left because another folder is shown, which may have an entry of this name.
  const inside = props.desk.folder();
  let isOver = false;
  /** The name as it stands in the field, which has no ends of lines. */
  let shown = name;
  const end = (isWanted: boolean) => {
    if (isOver) return;
    isOver = true;
    const next = field.value.trim();
    const list = field.closest<HTMLElement>('[role="grid"]');
    props.desk.setRenaming();
    list?.focus({ preventScroll: true });
    if (isWanted && field.value !== shown && next !== '' && next !== name) void props.desk.rename(inside, name, next);
  };
  onMount(() => {
    shown = field.value;
    field.focus();
    const dot = is_dir ? -1 : name.lastIndexOf('.');
    field.setSelectionRange(0, dot > 0 ? dot : name.length);
  });
  return (
    <input
      ref={field}
      class="input name-field"
      aria-label={t('newNameOf', { name })}
      value={name}
      spellcheck={false}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') end(true);
        if (event.key === 'Escape') end(false);
      }}
      onBlur={() => end(true)}
      onDblClick={(event) => event.stopPropagation()}
    />
  );
}
