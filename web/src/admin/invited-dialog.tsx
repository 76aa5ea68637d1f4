import type { JSX } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { SecretDialog } from '../pages/dialogs.tsx';

/** What to send to somebody who was invited: address, name and password, this once. */
export function InvitedDialog(props: { of: { readonly name: string; readonly password: string }; onClose: () => void }): JSX.Element {
  return (
    <SecretDialog
      title={t('inviteTitle', { name: props.of.name })}
      hint={t('inviteHint', { name: props.of.name })}
      secret={t('inviteText', { address: location.origin, ...props.of })}
      onClose={props.onClose}
    />
  );
}
