import type { DOMPurify } from 'dompurify';
import { call } from '../api/call.ts';
import { addressOf, bytesAddress, pathNear } from '../files/tree-path.ts';
import { t } from '../i18n/i18n.ts';
import { me } from '../session.ts';
import { askThread } from './ask-thread.ts';
import { breakWords } from './long-words.ts';
import workerAddress from './markdown-worker.ts?worker&url';
import './prose.css';

/**
 * What texts are made of. Left out is what would change the page around the text, or ask the viewer for something; links that are no `<a href>`, which would
 * open in place of the page; what fetches something but is no `<img src>`; what moves (a few hundred `<marquee>` in each other end a tab); and what a browser
 * counts anew for each one before it: quotes in quotes, directions in directions, numbers that items give themselves.
 */
const CLEANING = {
  ALLOWED_TAGS: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hgroup', 'p', 'div', 'span', 'br', 'hr', 'wbr', 'blockquote', 'pre', 'address', 'center'],
    ...['article', 'section', 'aside', 'header', 'footer', 'nav', 'main', 'figure', 'figcaption', 'details', 'summary'],
    ...['a', 'img', 'picture', 'ul', 'ol', 'menu', 'dir', 'li', 'dl', 'dt', 'dd', 'ruby', 'rt', 'rp'],
    ...['table', 'caption', 'colgroup', 'col', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td'],
    ...['b', 'strong', 'i', 'em', 'u', 's', 'strike', 'del', 'ins', 'mark', 'small', 'big', 'sub', 'sup', 'font', 'tt', 'nobr'],
    ...['code', 'kbd', 'samp', 'var', 'abbr', 'acronym', 'cite', 'dfn', 'time'],
  ],
  FORBID_ATTR: ['style', 'class', 'autofocus', 'srcset', 'background', 'value'],
};

/** Pictures beside one text that are fetched; of more the words are left. */
const MAX_PICTURES = 100;

/** So many places of tables the cells of one text have that go over several; where there are more, the rest go over one each. */
const MAX_SPANNED = 2_000;

/** What is longer, in UTF-16 units, the page would take long to look through. */
const MAX_HTML = 4_000_000;

/** How long the page cleans one text, in milliseconds. */
const MAX_CLEANING_MS = 2_000;

/**
 * Markdown of somebody else as elements: no script, no style, no form, links that open elsewhere. Addresses without a site mean what lies beside the text.
 *
 * A text that takes too long, or that nobody can make sense of, stays as it is.
 *
 * @param folder where the text lies. @param ofAdmin whether an administrator wrote it: pictures of other sites, which learn the viewer's address, are shown
 * unasked. @returns nodes that are shown once; their pictures come by and by
 */
export async function renderMarkdown(text: string, folder: string, ofAdmin = false): Promise<Node[]> {
  const [html, { default: purify }] = await Promise.all([askThread<string>(workerAddress, text), import('dompurify')]);
  const fragment = html === undefined || html.length > MAX_HTML ? undefined : clean(purify, html);
  if (!fragment) {
    const plain = document.createElement('pre');
    plain.textContent = text;
    return [plain];
  }
  for (const link of fragment.querySelectorAll('a[href]')) {
    link.setAttribute('rel', 'noopener noreferrer');
    link.setAttribute('target', '_blank');
    const address = link.getAttribute('href') ?? '';
    const path = pathNear(address, folder);
    if (path !== undefined) link.setAttribute('href', addressOf(path) + (/#.*/.exec(address)?.[0] ?? ''));
  }
  boundSpans(fragment);
  breakWords(fragment);
  const near: [HTMLImageElement, string][] = [];
  const far: [HTMLImageElement, string][] = [];
  for (const image of fragment.querySelectorAll('img')) {
    if (!image.hasAttribute('alt')) image.alt = '';
    image.setAttribute('loading', 'lazy');
    image.setAttribute('referrerpolicy', 'no-referrer');
    const address = image.getAttribute('src') ?? '';
    const path = pathNear(address, folder);
    if (path === undefined && (ofAdmin || /^\s*data:/i.test(address))) continue;
    image.removeAttribute('src');
    if (path !== undefined) near.push([image, path]);
    else if (address !== '') far.push([image, address]);
  }
  void showPictures(near.slice(0, MAX_PICTURES));
  return [...(far.length > 0 ? [askFor(far)] : []), ...fragment.childNodes];
}

/** Of cells that go over rows and columns a browser lays out each place: 90 KB of them ended a tab. */
function boundSpans(fragment: DocumentFragment): void {
  let places = 0;
  for (const cell of fragment.querySelectorAll<HTMLElement>('[colspan], [rowspan], [span]')) {
    // All rows that follow.
    if (Number.parseInt(cell.getAttribute('rowspan') ?? '1', 10) === 0) cell.removeAttribute('rowspan');
    const [columns = 1, rows = 1, all = 1] = SPANS.map((name) => Math.max(1, Number.parseInt(cell.getAttribute(name) ?? '1', 10) || 1));
    places += columns * rows * all;
    if (places > MAX_SPANNED) for (const name of SPANS) cell.removeAttribute(name);
  }
}

const SPANS = ['colspan', 'rowspan', 'span'] as const;

/** Asks whether pictures of other sites are to be shown. */
function askFor(far: readonly [HTMLImageElement, string][]): HTMLElement {
  const question = document.createElement('p');
  question.className = 'prose-question';
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button';
  button.textContent = t('showFarPictures');
  button.onclick = () => {
    question.remove();
    for (const [image, address] of far) image.src = address;
  };
  question.append(t('farPictures'), ' ', button);
  return question;
}

/**
 * Cleans a text of markup, which is done at once and cannot be left to a thread: thousands of attributes of one element, or hundreds of unknown elements in
 * each other, take it minutes.
 *
 * @returns undefined: not in time
 */
function clean(purify: DOMPurify, html: string): DocumentFragment | undefined {
  const end = performance.now() + MAX_CLEANING_MS;
  const late = new Error('the text takes too long');
  const look = () => {
    if (performance.now() > end) throw late;
  };
  purify.addHook('beforeSanitizeElements', look);
  purify.addHook('uponSanitizeAttribute', look);
  try {
    return purify.sanitize(html, { ...CLEANING, RETURN_DOM_FRAGMENT: true, SANITIZE_NAMED_PROPS: true });
  } catch (error) {
    if (error === late) return undefined;
    throw error;
  } finally {
    purify.removeAllHooks();
  }
}

/** One after the other: each is asked for its signature. What is not there, or not for this viewer, leaves its words. */
async function showPictures(near: readonly [HTMLImageElement, string][]): Promise<void> {
  for (const [image, path] of near) {
    const found = await call('/api/fs/get', { path, password: '' }).catch(() => undefined);
    if (found && !found.is_dir) image.src = bytesAddress(me.latest?.base_path ?? '/', path, found.sign);
  }
}
