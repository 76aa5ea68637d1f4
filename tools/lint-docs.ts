// Holds documents to the repository: each path and each link in them is there, and each page that a comment
// cites; and to plain words. Part of `npm run lint`.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const paths = globSync(['*', '.ci/*', '{deploy,docs,packages,proto,services,test,tools,web}/**'], {
  cwd: ROOT,
  exclude: (name) => name.includes('node_modules'),
});
const endings = new Set(paths.flatMap((path) => path.split('/').map((_, at, segments) => segments.slice(at).join('/'))));
const documents = paths.filter((path) => path.endsWith('.md'));
const sources = paths.filter((path) => /\.(ts|mjs|proto)$/.test(path) && !path.startsWith('proto/gen/'));

/** Where users, callers and processes are called by what they are. */
const plain = [...documents, ...sources];

const problems = [
  ...documents.flatMap((document) => [...lostPaths(document), ...lostLinks(document)]),
  ...sources.flatMap(lostCitations),
  ...plain.flatMap(pronouns),
];
for (const problem of problems) console.error(problem);
console.error(`documents: ${documents.length}, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

/** Words in backticks that look like a path of the repository, or like the end of one, and are not there. */
function lostPaths(document: string): string[] {
  const words = matches(read(document), /`([\w.@*-]+(?:\/[\w.@*-]*)*)`/g);
  const isPath = /^[^.].*\.(ts|mjs|md|proto|grit|binpb)$|^(\.ci|deploy|docs|packages|proto|services|tools)\//;
  return words.filter((word) => isPath.test(word) && !isThere(word)).map((word) => `${document}: there is no ${word}`);
}

/** Whether a path of the repository ends so; `*` stands for any part of a segment. */
function isThere(word: string): boolean {
  const ending = word.replace(/\/$/, '');
  if (!ending.includes('*')) return endings.has(ending);
  const pattern = new RegExp(`^${ending.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`);
  return [...endings].some((each) => pattern.test(each));
}

function lostLinks(document: string): string[] {
  const links = matches(read(document).replace(/```.*?```|`[^`]*`/gs, ''), /\]\(([^)\s]+)\)/g).filter((link) => !/^\w+:/.test(link));
  return links
    .filter((link) => !isTarget(link.startsWith('#') ? `${document}${link}` : normalize(join(dirname(document), link))))
    .map((link) => `${document}: the link ${link} leads nowhere`);
}

function lostCitations(source: string): string[] {
  const cited = matches(read(source), /\b(docs\/[\w/-]+\.md(?:#[\w-]+)?)/g);
  return cited.filter((target) => !isTarget(target)).map((target) => `${source}: there is no ${target}`);
}

function pronouns(path: string): string[] {
  return matches(read(path), /\b([Hh](?:e|im|is))\b/g).map((word) => `${path}: say who "${word}" is`);
}

/** A path from the root, whose anchor, if any, is that of a heading. */
function isTarget(target: string): boolean {
  const [path = '', anchor] = target.split('#');
  return paths.includes(path.replace(/\/$/, '')) && (anchor === undefined || anchorsOf(path).includes(anchor));
}

/** As GitHub makes them. */
function anchorsOf(document: string): string[] {
  return matches(read(document), /^#+ (.+)$/gm).map((title) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}
