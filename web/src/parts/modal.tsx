import { Dialog } from '@kobalte/core/dialog';
import { type JSX, onCleanup } from 'solid-js';
import { focusFiles } from './focus-files.ts';

/** A dialog over the page. It is there as long as it is rendered; Escape, a click beside it and its own buttons call `onClose`. */
export function Modal(props: {
  title: string;
  onClose: () => void;
  isWide?: boolean;
  class?: string;
  /** For dialogs that show their title otherwise. */
  isTitleUnseen?: boolean;
  children: JSX.Element;
}): JSX.Element {
  const before = document.activeElement;
  /** Keys go on where they were; where that is gone, in the files. */
  const giveBack = (event: Event) => {
    event.preventDefault();
    const isThere = before instanceof HTMLElement && before.isConnected && before !== document.body;
    if (isThere) before.focus({ preventScroll: true });
    else focusFiles();
  };
  /** What had the keys is gone, such as a button that was pressed: they stay in the dialog, where Escape closes it. */
  const keepKeys = (content: HTMLElement) => {
    const watch = new MutationObserver(() => document.activeElement === document.body && content.focus({ preventScroll: true }));
    const begin = requestAnimationFrame(() => watch.observe(content, { childList: true, subtree: true }));
    onCleanup(() => {
      cancelAnimationFrame(begin);
      watch.disconnect();
    });
  };
  return (
    <Dialog open onOpenChange={(isOpen) => !isOpen && props.onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay class="veil" />
        <Dialog.Content ref={keepKeys} class={props.class ?? `dialog ${props.isWide ? 'is-wide' : ''}`} onCloseAutoFocus={giveBack}>
          <Dialog.Title class={props.isTitleUnseen ? 'unseen' : ''}>{props.title}</Dialog.Title>
          {props.children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog>
  );
}
