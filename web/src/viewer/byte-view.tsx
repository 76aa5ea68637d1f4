import { ChevronLeft, ChevronRight } from 'lucide';
import { createResource, createSignal, type JSX, Show } from 'solid-js';
import { explain } from '../files/explain.ts';
import { look } from '../files/look.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { IconButton } from '../parts/icon-button.tsx';
import { byteRows } from './byte-rows.ts';
import { readPart } from './read-part.ts';

const PAGE_BYTES = 16 * 1024;

/** The bytes of any file, a page at a time. */
export default function ByteView(props: { address: string; name: string }): JSX.Element {
  const [offset, setOffset] = createSignal(0);
  const [page] = createResource(
    () => ({ address: props.address, from: offset(), perRow: look.isPhone() ? (8 as const) : (16 as const) }),
    async ({ address, from, perRow }) => {
      const part = await readPart(address, from, PAGE_BYTES);
      return { ...part, from, to: from + part.bytes.length, rows: byteRows(part.bytes, from, perRow) };
    },
  );
  const read = () => (page.error ? undefined : page.latest);
  const where = () => {
    const { from, to, size } = read() ?? { from: offset(), to: offset() };
    const shown = { from: showSize(from), to: showSize(to) };
    return size === undefined ? t('bytesTo', shown) : t('bytesOf', { ...shown, size: showSize(size) });
  };
  return (
    <div class="viewer-text byte-view">
      <div class="byte-view-bar">
        <span class="note" role="status">
          {where()}
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
          isDisabled={read()?.isLast !== false}
          onPress={() => setOffset(read()?.to ?? 0)}
        />
      </div>
      <Show when={!page.error} fallback={<p class="viewer-none">{explain(page.error)}</p>}>
        <section class="viewer-page" aria-label={t('bytesIn', { name: props.name })}>
          <pre tabindex="0">{read()?.rows ?? t('loading')}</pre>
        </section>
      </Show>
    </div>
  );
}
