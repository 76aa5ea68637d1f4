/** First segments that the server keeps for itself; a folder of that name is shown below `/@/`. */
const RESERVED =
  /^\/(?:api|d|p|ad|ap|ae|sd|sad|dav|s3|mcp|i|ping|assets|images|static|streamer|@[^/]*|[^/]+\.(?:ico|svg|txt|json|html))(?:\/|$)/;

/** A path of the tree: begins with `/`, ends without one but for the root. */
export function cleanPath(text: string): string {
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  return `/${names.join('/')}`;
}

export function joinPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Each folder on the way to `path`, the root first. */
export function waysOf(path: string): readonly string[] {
  const names = path.split('/').filter(Boolean);
  return ['/', ...names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)];
}

/** Whether `path` is `folder` or below it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

const encode = (path: string) => path.split('/').map(encodeURIComponent).join('/');

/** The address of the page that shows `path`. */
export function addressOf(path: string): string {
  return (RESERVED.test(path) ? '/@' : '') + encode(path);
}

/** The path that a page's address shows. */
export function pathAt(address: string): string {
  const given = address.startsWith('/@/') ? address.slice(2) : address;
  try {
    return cleanPath(decodeURIComponent(given));
  } catch {
    return cleanPath(given);
  }
}

/** The path that an address in a text of `folder` means; undefined: it leads to another site, to a place of this one, or within the text. */
export function pathNear(address: string, folder: string): string | undefined {
  if (/^\s*(?:[/\\#?]|[a-z][a-z\d+.-]*:|$)/i.test(address)) return undefined;
  const url = URL.parse(address, `http://tree${encode(folder)}/`);
  try {
    return url?.host === 'tree' ? cleanPath(decodeURIComponent(url.pathname)) : undefined;
  } catch {
    return undefined;
  }
}

/** The address of a file's bytes. @param basePath what the user's tree begins at; signatures cover it. */
export function bytesAddress(basePath: string, path: string, sign: string, route: 'd' | 'p' = 'd'): string {
  const whole = cleanPath(`${basePath}/${path}`);
  return `/${route}${encode(whole)}${sign === '' ? '' : `?sign=${encodeURIComponent(sign)}`}`;
}
