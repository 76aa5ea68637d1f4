import './prose.css';

/** What would change the page around the text, or ask the viewer for something. */
const FORBIDDEN = {
  FORBID_TAGS: ['style', 'form', 'input', 'button', 'select', 'textarea', 'dialog'],
  FORBID_ATTR: ['style', 'class', 'autofocus'],
};

/** Markdown of somebody else as elements: no script, no style, no form, links that open elsewhere. */
export async function renderMarkdown(text: string): Promise<DocumentFragment> {
  const [{ Marked }, { default: purify }] = await Promise.all([import('marked'), import('dompurify')]);
  // Fields are taken out below: what is done and what is not is said by signs.
  const marking = new Marked({ renderer: { checkbox: ({ checked }) => (checked ? '☑ ' : '☐ ') } });
  const html = await marking.parse(text, { gfm: true, async: true });
  const fragment = purify.sanitize(html, { ...FORBIDDEN, RETURN_DOM_FRAGMENT: true, SANITIZE_NAMED_PROPS: true });
  for (const link of fragment.querySelectorAll('a[href]')) {
    link.setAttribute('rel', 'noopener noreferrer');
    link.setAttribute('target', '_blank');
  }
  for (const image of fragment.querySelectorAll('img')) {
    if (!image.hasAttribute('alt')) image.alt = '';
    image.setAttribute('loading', 'lazy');
    image.setAttribute('referrerpolicy', 'no-referrer');
  }
  return fragment;
}
