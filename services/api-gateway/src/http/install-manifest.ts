import { AppError } from '@wharf/errors';
import { escapeMarkup } from './escape-markup.ts';

/** Of apps that come without an identifier of their own. */
const UNNAMED_VENDOR = 'app.';
const MAX_TEXT = 8_192;

/**
 * The manifest that iOS asks for to install an app from a link (`itms-services`).
 *
 * @param name url-safe base64, with `.` for `=`, of `<percent-encoded address>/<percent-encoded name>`; `name@bundle.id` has the identifier too.
 * @returns a property list in XML. @throws AppError INVALID_ARGUMENT
 */
export function installManifest(name: string): string {
  const [address, title] = decoded(name);
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) throw new AppError('INVALID_ARGUMENT', 'the link to install from must be one of the web');
  const at = title.lastIndexOf('@');
  const [shown, bundle] = at < 0 ? [title, UNNAMED_VENDOR + encodeURIComponent(title)] : [title.slice(0, at), title.slice(at + 1)];
  const entry = (key: string, text: string) => `<key>${key}</key><string>${escapeMarkup(text)}</string>`;
  const asset = `<dict>${entry('kind', 'software-package')}${entry('url', url.href)}</dict>`;
  const metadata = [entry('bundle-identifier', bundle), entry('bundle-version', '1.0'), entry('kind', 'software'), entry('title', shown)];
  const item = `<key>assets</key><array>${asset}</array><key>metadata</key><dict>${metadata.join('')}</dict>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>items</key><array><dict>${item}</dict></array></dict></plist>
`;
}

function decoded(name: string): [address: string, title: string] {
  // Node reads both alphabets.
  const parts = name.length <= MAX_TEXT ? Buffer.from(name.replaceAll('.', '='), 'base64').toString('utf8').split('/') : [];
  const [address, title] = parts;
  if (parts.length !== 2 || !address || !title) throw malformed();
  try {
    return [decodeURIComponent(address), decodeURIComponent(title)];
  } catch {
    throw malformed();
  }
}

function malformed(): AppError {
  return new AppError('INVALID_ARGUMENT', 'the name must be the base64 of an address, a slash and a name');
}
