// Holds every import of the workspace to tools/import-rules.ts, and refuses circles. Part of `npm run lint`.
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { IMPORT_RULES, type ImportRule, TEST_RULE } from './import-rules.ts';

const ROOT = join(import.meta.dirname, '..');

interface Import {
  readonly file: string;
  readonly line: number;
  /** A path from the root, `@wharf/name`, or the name of an npm package. */
  readonly target: string;
  readonly isTypeOnly: boolean;
}

const files = globSync('{packages,services,proto,test,tools,web}/**/*.{ts,tsx}', {
  cwd: ROOT,
  exclude: (name) => name.includes('node_modules'),
});
const imports = files.flatMap(importsOf);
const problems = [...imports.flatMap(judge), ...circles(imports)];
for (const problem of problems) console.error(problem);
console.error(`imports: ${imports.length} in ${files.length} files, ${problems.length} not allowed`);
process.exit(problems.length === 0 ? 0 : 1);

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const pattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;
  return [...text.matchAll(pattern)].flatMap((match) => {
    const specifier = match[2] ?? match[3] ?? '';
    if (isBuiltin(specifier) || specifier.includes('${')) return [];
    const line = text.slice(0, match.index).split('\n').length;
    return [{ file, line, target: targetOf(file, specifier), isTypeOnly: match[1] !== undefined }];
  });
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier));
  const [scope = '', name] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

function judge(each: Import): string[] {
  const rule = ruleFor(each.file);
  const where = `${each.file}:${each.line}`;
  if (!rule) return [`${where}: no row of tools/import-rules.ts speaks of this file`];
  const isTest = /(^|\/)(test|testing)\/|\.(test|suite)\.ts$/.test(each.file) && !each.file.startsWith('test/');
  const isAllowed = isWorkspace(each.target)
    ? rule.may.some((prefix) => matches(each, prefix)) ||
      (each.isTypeOnly && (rule.mayTypes ?? []).some((prefix) => matches(each, prefix))) ||
      (isTest && (TEST_RULE.may.some((prefix) => matches(each, prefix)) || isOwnPackage(each)))
    : rule.npm === true || rule.npm.includes(each.target) || isTest || each.target === 'vitest';
  return isAllowed ? [] : [`${where}: may not import ${each.target}`];
}

function ruleFor(file: string): ImportRule | undefined {
  const matching = IMPORT_RULES.filter(
    (rule) =>
      patternOf(rule.files).test(file) || (rule.files.includes('/src/') && patternOf(rule.files.replace('/src/', '/test/')).test(file)),
  );
  return matching.toSorted((left, right) => right.files.length - left.files.length)[0];
}

/** `=` stands for the same segment as in the importing file: a folder may import itself, not its siblings. */
function matches({ file, target }: Import, prefix: string): boolean {
  const own = prefix.includes('=') ? prefix.replace('=', file.split('/')[prefix.split('/').indexOf('=')] ?? '') : prefix;
  if (own.startsWith('@')) return target === own;
  const star = own.indexOf('*');
  // A star inside one's own kind of package means that package.
  const bound =
    star !== -1 && own.startsWith('services/*/src') && file.startsWith('services/') ? own.replace('*', file.split('/')[1] ?? '') : own;
  return patternOf(bound).test(target);
}

function isOwnPackage({ file, target }: Import): boolean {
  const [group, name] = file.split('/');
  return target.startsWith(`${group}/${name}/`) || target.startsWith('@wharf/');
}

function isWorkspace(target: string): boolean {
  return target.startsWith('@wharf/') || (target.includes('/') && !target.startsWith('@'));
}

function patternOf(prefix: string): RegExp {
  return new RegExp(
    `^${prefix
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^/]+')}`,
  );
}

/** Files that import each other, directly or around a corner, be it only types. */
function circles(all: readonly Import[]): string[] {
  const next = new Map<string, string[]>();
  for (const each of all)
    if (isWorkspace(each.target) && !each.target.startsWith('@')) next.set(each.file, [...(next.get(each.file) ?? []), each.target]);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, way: readonly string[]) => {
    const at = way.indexOf(file);
    if (at !== -1) return void found.push(`circle: ${[...way.slice(at), file].join(' -> ')}`);
    if (done.has(file)) return;
    for (const target of next.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  return found;
}
