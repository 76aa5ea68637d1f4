import { ChevronLeft, ChevronRight } from 'lucide';
import { createResource, createSignal, type JSX, Show } from 'solid-js';
import { look } from '../files/look.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { IconButton } from '../parts/icon-button.tsx';
import { byteRows } from './byte-rows.ts';

const PAGE_BYTES = 16 * 1024;

/** The bytes of any file, a page at a time. */
export default function ByteView(props: { address: string; size: number; name: string }): JSX.Element {
  const [offset, setOffset] = createSignal(0);
  const [rows] = createResource(
    () => ({ address: props.address, from: offset(), perRow: look.isPhone() ? (8 as const) : (16 as const) }),
    async ({ address, from, perRow }) => {
      const answer = await fetch(address, { headers: { Range: `bytes=${from}-${from + PAGE_BYTES - 1}` }, cache: 'no-store' });
      if (answer.status === 416) return '';
      if (answer.status !== 206) throw new Error(`${answer.status} ${answer.statusText}`);
      return byteRows(new Uint8Array(await answer.arrayBuffer()), from, perRow);
    },
  );
  const end = () => Math.min(props.size, offset() + PAGE_BYTES);
  return (
    <div class="viewer-text byte-view">
      <div class="byte-view-bar">
        <span class="note" role="status">
          {t('bytesOf', { from: showSize(offset()), to: showSize(end()), size: showSize(props.size) })}
        </span>
        <IconButton
          icon={ChevronLeft}
          label={t('bytesBefore')}
          isDisabled={offset() === 0}
          onPress={() => setOffset(offset() - PAGE_BYTES)}
        />
        <IconButton
          icon={ChevronRight}
          label={t('bytesBehind')}
          isDisabled={end() >= props.size}
          onPress={() => setOffset(offset() + PAGE_BYTES)}
        />
      </div>
      <Show when={!rows.error} fallback={<p class="viewer-none">{t('errorOffline')}</p>}>
        <section class="viewer-page" aria-label={t('bytesIn', { name: props.name })}>
          <pre tabindex="0">{rows.latest ?? t('loading')}</pre>
        </section>
      </Show>
    </div>
  );
}
