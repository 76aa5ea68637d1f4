import { Monitor, Smartphone, Terminal } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { showTime, t } from '../i18n/i18n.ts';
import { ConfirmDialog } from '../pages/dialogs.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip, Row, Rows } from '../pages/rows.tsx';
import { attempt } from '../pages/work.ts';
import { deviceOf } from './device-of.ts';

type Session = Answer<'/api/me/sessions'>['content'][number];

const ICONS = { computer: Monitor, phone: Smartphone, program: Terminal } as const;

/** Where the viewer is logged in, and how to end that. */
export function Sessions(): JSX.Element {
  const [list, { refetch }] = createResource(() => call('/api/me/sessions', {}));
  const [endsOthers, setEndsOthers] = createSignal(false);
  const others = () => (list.state === 'ready' ? list.latest.content.filter((session) => !session.current) : []);
  const end = async (session: Session) => {
    await attempt(() => call('/api/me/sessions/revoke', { id: session.id }), t('sessionEnded'));
    await refetch();
  };
  return (
    <Page title={t('sessions')} hint={t('sessionsHint')}>
      <Section
        title={t('sessionsYours')}
        actions={
          <Show when={others().length > 0}>
            <button type="button" class="button" onClick={() => setEndsOthers(true)}>
              {t('endOthers')}
            </button>
          </Show>
        }
      >
        <Loaded of={list} onRetry={() => void refetch()}>
          {(found) => (
            <Rows label={t('sessions')}>
              <For each={found().content}>{(session) => <SessionRow of={session} onEnd={() => void end(session)} />}</For>
            </Rows>
          )}
        </Loaded>
      </Section>
      <Show when={endsOthers()}>
        <ConfirmDialog
          title={t('endOthers')}
          text={t('endOthersText', { n: others().length })}
          confirm={t('endOthers')}
          done={t('othersEnded')}
          onConfirm={async () => {
            for (const { id } of others()) await call('/api/me/sessions/revoke', { id });
            await refetch();
          }}
          onClose={() => setEndsOthers(false)}
        />
      </Show>
    </Page>
  );
}

function SessionRow(props: { of: Session; onEnd: () => void }): JSX.Element {
  const device = () => deviceOf(props.of.device);
  const name = () => {
    const { program, system } = device();
    if (program === '') return t('unknownDevice');
    return system === '' ? program : t('deviceOn', { program, system });
  };
  return (
    <Row
      icon={ICONS[device().kind]}
      title={
        <>
          {name()}
          <Show when={props.of.current}>
            <Chip kind="good">{t('thisOne')}</Chip>
          </Show>
        </>
      }
      note={[
        props.of.address,
        t('since', { time: showTime(props.of.created_time) }),
        t('endsAt', { time: showTime(props.of.expires_time) }),
      ]
        .filter(Boolean)
        .join(' · ')}
    >
      <Show when={!props.of.current}>
        <button type="button" class="button" onClick={props.onEnd}>
          <span class="unseen">{name()}: </span>
          {t('endSession')}
        </button>
      </Show>
    </Row>
  );
}
