/** `a.txt`, `a (2).txt`, `a (3).txt`. */
export function numberedPath(path: string): string {
  const slash = path.lastIndexOf('/') + 1;
  const dot = path.lastIndexOf('.');
  const end = dot > slash ? dot : path.length;
  const [, stem = '', number = '1'] = /^(.*?)(?: \((\d+)\))?$/s.exec(path.slice(slash, end)) ?? [];
  return `${path.slice(0, slash)}${stem} (${Number(number) + 1})${path.slice(end)}`;
}
