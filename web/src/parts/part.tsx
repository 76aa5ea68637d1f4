import { PlugZap } from 'lucide';
import { ErrorBoundary, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Icon } from './icon.tsx';
import { Modal } from './modal.tsx';

/**
 * A part of the page. Where its script cannot be fetched, or where it fails otherwise, it says so in its place, and the rest of the page goes on, with
 * what is on its way and what was written.
 *
 * @param props `onClose`: it lies over the page, and this takes it away
 */
export function Part(props: { onClose?: () => void; children: JSX.Element }): JSX.Element {
  const failure = (error: unknown, again: () => void) => {
    console.error(error);
    const close = () => {
      props.onClose?.();
      again();
    };
    return (
      <Show when={props.onClose} fallback={<Failed onAgain={again} />}>
        <Modal title={t('partFailed')} onClose={close} isTitleUnseen>
          <Failed onAgain={again} />
        </Modal>
      </Show>
    );
  };
  return <ErrorBoundary fallback={failure}>{props.children}</ErrorBoundary>;
}

function Failed(props: { onAgain: () => void }): JSX.Element {
  return (
    <div class="state" role="alert">
      <Icon of={PlugZap} size={48} />
      <h2>{t('partFailed')}</h2>
      <p>{t('partFailedHint')}</p>
      <p class="state-actions">
        <button type="button" class="button is-main" onClick={() => props.onAgain()}>
          {t('tryAgain')}
        </button>
        <button type="button" class="button" onClick={() => location.reload()}>
          {t('loadAnew')}
        </button>
      </p>
    </div>
  );
}
