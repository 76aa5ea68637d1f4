import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Settings } from '@wharf/models';
import { OPENAPI_PATH } from './api-handler.ts';
import { escapeMarkup } from './escape-markup.ts';
import type { WebPage } from './web-page.ts';

/** Our own icon; the factory setting `favicon` points here. */
export const ICON_PATH = '/favicon.svg';

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="#1890ff"/><path d="M10 40h44v5H10zM16 45h5v9h-5zm13.500 0h5v9h-5zM43 45h5v9h-5zM22 18h20v18H22z" fill="#fff"/><path d="M30 18h4v7h-4z" fill="#1890ff"/></svg>
`;

const STYLE = `:root{color-scheme:light dark;--ink:#1d2733;--soft:#5b6b7c;--paper:#f5f8fb;--card:#fff;--line:#dfe7ef;--accent:#0f6fd0}
@media(prefers-color-scheme:dark){:root{--ink:#e8eef5;--soft:#9db0c3;--paper:#10161d;--card:#182029;--line:#2a3644;--accent:#69b4ff}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:2rem;background:var(--paper);color:var(--ink);font:16px/1.6 system-ui,sans-serif}
main{max-width:34rem;padding:2.5rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;box-shadow:0 1rem 3rem #0001}
img{width:3.5rem;height:3.5rem}h1{margin:.75rem 0 .25rem;font-size:1.75rem;line-height:1.2;overflow-wrap:anywhere}p{margin:.75rem 0;color:var(--soft)}
a{color:var(--accent)}code{padding:.1em .35em;border-radius:.3em;background:var(--paper);color:var(--ink)}`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "img-src 'self'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @param web what there is of the web page instead; undefined: this Wharf has none. */
export function homePage(settings: Settings, web?: ReturnType<WebPage['state']>): string {
  return page(
    settings.text('site_title'),
    `${web === undefined || web === 'built' ? '' : pageNews(web)}<p>A storage gateway: one file tree over many storages, behind one HTTP API.</p>
<p>The API answers under <code>/api</code>; <a href="${OPENAPI_PATH}">its description</a> is an OpenAPI 3.1 document.</p>`,
  );
}

function pageNews(web: 'awaited' | { readonly failure: string }): string {
  if (web === 'awaited') return '<p role="status">The web page is being built. It will be here in a minute: reload then.</p>\n';
  return `<p role="status">The web page could not be built: <code>${escapeMarkup(web.failure)}</code></p>\n`;
}

export function missingPage(settings: Settings): string {
  return page(settings.text('site_title'), '<p>There is no page at this address. <a href="/">Go to the start page.</a></p>');
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="${ICON_PATH}">
<style>${STYLE}</style>
</head>
<body>
<main>
<img src="${ICON_PATH}" alt="">
<h1>${escapeMarkup(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

export function sendPage(response: ServerResponse, status: number, html: string): void {
  response
    .writeHead(status, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Length': Buffer.byteLength(html),
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    })
    .end(html);
}

/** Where the site's icon is: the setting, when a browser can be sent there, else our own. */
export function iconOf(settings: Settings): string {
  const icon = settings.text('favicon');
  const url = URL.parse(icon, 'http://ourselves.invalid/');
  return icon !== '' && url !== null && /^https?:$/.test(url.protocol) ? icon : ICON_PATH;
}

/** The web app manifest. */
export function manifestOf(settings: Settings): Record<string, unknown> {
  const icon = firstLine(settings.text('logo')) || settings.text('favicon') || ICON_PATH;
  return {
    display: 'standalone',
    scope: '/',
    start_url: '/',
    name: settings.text('site_title'),
    icons: [{ src: icon, sizes: '512x512', type: icon.endsWith('.svg') ? 'image/svg+xml' : 'image/png' }],
  };
}

const firstLine = (text: string) => (text.split('\n')[0] ?? '').trim();
