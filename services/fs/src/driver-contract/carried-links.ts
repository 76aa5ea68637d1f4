import path from 'node:path';

// What a relative link says is another place in another folder. Whoever moves one writes it anew, so that nobody reaches anything by moving a link that
// was out of reach before. These look at texts only.

/** Where a link is, and where it goes to. Folders free of links. */
export interface CarriedLink {
  readonly text: string;
  readonly fromFolder: string;
  readonly toFolder: string;
  /** What it leads to now, free of links; undefined where that is not there. */
  readonly target: string | undefined;
}

/** The text that a link must have in the other folder to lead where it leads now. */
export function carriedText({ text, fromFolder, toFolder, target }: CarriedLink, paths: path.PlatformPath = path): string {
  if (fromFolder === toFolder || paths.isAbsolute(text)) return text;
  return paths.relative(toFolder, target ?? paths.resolve(fromFolder, text)) || '.';
}

/** A longer text of a link is not carried, in bytes or characters: no system has one, but a server may say it. */
export const MAX_LINK_LENGTH = 4_096;

/** Whether a link leads out of a folder that is carried as a whole, as far as its text tells; one that is too long counts so. @param inner the link's own folder in it, such as `a/b` */
export function leadsOut(text: string, inner: string, paths: path.PlatformPath = path): boolean {
  if (paths.isAbsolute(text)) return false;
  if (text.length > MAX_LINK_LENGTH) return true;
  // Behind a name `..` may mean another folder than the one before it, when the name is itself a link.
  const steps = text.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (steps.some((step, index) => step === '..' && index > 0 && steps[index - 1] !== '..')) return true;
  const depth = inner.split('/').filter((segment) => segment !== '').length;
  return steps.filter((step) => step === '..').length > depth;
}
