import { Check, Copy } from 'lucide';
import { createSignal, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { Modal } from '../parts/modal.tsx';
import { notify } from '../parts/notices.tsx';
import { createWork } from './work.ts';

/** A form in a dialog: what it asks for, and what sends it. It closes where `onSend` succeeds. */
export function FormDialog(props: {
  title: string;
  send: string;
  /** Said where it succeeded. */
  done?: string;
  isDanger?: boolean;
  isWide?: boolean;
  isIncomplete?: boolean;
  /** Beside the buttons. */
  more?: JSX.Element;
  onSend: () => Promise<unknown>;
  onClose: () => void;
  children: JSX.Element;
}): JSX.Element {
  const work = createWork();
  return (
    <Modal title={props.title} onClose={props.onClose} isWide={props.isWide ?? false}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void work.run(props.onSend, props.done).then((isDone) => isDone && props.onClose());
        }}
      >
        {props.children}
        <p class="problem" role="alert">
          {work.problem()}
        </p>
        <div class="dialog-end">
          {props.more}
          <button type="button" class="button" onClick={props.onClose}>
            {t('cancel')}
          </button>
          <button
            type="submit"
            class="button"
            classList={{ 'is-main': !props.isDanger, 'is-danger': props.isDanger ?? false }}
            disabled={work.isBusy() || props.isIncomplete}
          >
            {props.send}
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** Asks before something goes. */
export function ConfirmDialog(props: {
  title: string;
  text: string;
  confirm: string;
  done?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}): JSX.Element {
  return (
    <FormDialog title={props.title} send={props.confirm} done={props.done ?? ''} isDanger onSend={props.onConfirm} onClose={props.onClose}>
      <p class="dialog-words">{props.text}</p>
    </FormDialog>
  );
}

/** Puts a text on the clipboard. */
export function CopyButton(props: { text: string; label?: string }): JSX.Element {
  const [isCopied, setCopied] = createSignal(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      setCopied(true);
    } catch {
      notify(t('notCopied'), { isBad: true });
    }
  };
  return (
    <button type="button" class="button" onClick={() => void copy()}>
      <Icon of={isCopied() ? Check : Copy} />
      {isCopied() ? t('copiedText') : (props.label ?? t('copy'))}
    </button>
  );
}

/** A secret that is shown this once. */
export function SecretDialog(props: {
  title: string;
  hint: string;
  /** As it is shown, and as it is copied. */
  secret: string;
  onClose: () => void;
  children?: JSX.Element;
}): JSX.Element {
  return (
    <Modal title={props.title} onClose={props.onClose}>
      <div class="secret">
        <p class="note">{props.hint}</p>
        <pre>{props.secret}</pre>
        <Show when={props.children}>{props.children}</Show>
      </div>
      <div class="dialog-end">
        <CopyButton text={props.secret} />
        <button type="button" class="button is-main" onClick={props.onClose}>
          {t('keptIt')}
        </button>
      </div>
    </Modal>
  );
}
