/** A value of which a part may be another one each time. In JSON: an object whose one key begins with `$` says what may stand there. */
export type Template = unknown;

/** Values that a run was given, by their names: they may stand within texts. */
export type Given = Readonly<Record<string, string>>;

/** Texts for people, which change without anybody counting on them. */
const LONG_TEXT = 40;
/** Of a list that has more, the first is looked at. */
const MOST_ITEMS = 3;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value);
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;
const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isBytes(value) && value.length === 0);
const kindOf = (value: unknown) => (isBytes(value) ? 'bytes' : Array.isArray(value) ? 'list' : typeof value);

/** What two answers have in common: what is alike word for word, of the rest the kind. What is empty in one of them is left out. */
export function commonOf(one: unknown, other: unknown): Template {
  if (isEmpty(one) || isEmpty(other) || kindOf(one) !== kindOf(other)) return undefined;
  if (Array.isArray(one) && Array.isArray(other)) {
    if (one.length === other.length && one.length <= MOST_ITEMS) return one.map((item, index) => commonOf(item, other[index]) ?? null);
    return { $first: commonOf(one[0], other[0]) ?? null };
  }
  if (isObject(one) && isObject(other)) {
    const fields = Object.keys(one).map((key) => [key, commonOf(one[key], other[key])] as const);
    return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
  }
  if (one === other && !(typeof one === 'string' && one.length > LONG_TEXT)) return one;
  return { $kind: kindOf(one) };
}

/** Why an answer is not as a template says; undefined: it is. */
export function differenceOf(template: Template, answer: unknown, path = ''): string | undefined {
  if (template === null || template === undefined) return undefined;
  if (Array.isArray(template)) {
    if (!Array.isArray(answer) || answer.length !== template.length) return `${path} has not ${template.length} items`;
    return first(template.map((item, index) => differenceOf(item, answer[index], `${path}[${index}]`)));
  }
  if (isObject(template)) {
    if ('$kind' in template)
      return isEmpty(answer) || kindOf(answer) !== template['$kind'] ? `${path} is no ${template['$kind']}` : undefined;
    if ('$first' in template)
      return Array.isArray(answer) && answer.length > 0 ? differenceOf(template['$first'], answer[0], `${path}[0]`) : `${path} is empty`;
    if (!isObject(answer)) return `${path} is no object`;
    return first(Object.entries(template).map(([key, value]) => differenceOf(value, answer[key], `${path}.${key}`)));
  }
  return template === answer ? undefined : `${path} is ${JSON.stringify(answer)} instead of ${JSON.stringify(template)}`;
}

const first = (all: readonly (string | undefined)[]) => all.find((one) => one !== undefined);

/** Where a value of a request came from: the number of a call, and the way into its answer. Undefined: its caller made it up. */
export type Sources = (one: unknown, other: unknown) => readonly (string | number)[] | undefined;

/** A request as it is made again: what differs in two runs was given, was answered before, or is what its caller made up in the first run. */
export function requestOf(one: unknown, other: unknown, given: readonly [Given, Given], sourceOf: Sources): Template {
  if (isBytes(one)) return { $bytes: Buffer.from(one).toString('base64') };
  if (Array.isArray(one))
    return one.map((item, index) => requestOf(item, Array.isArray(other) ? other[index] : undefined, given, sourceOf));
  if (isObject(one)) {
    const fields = Object.entries(one).filter(([, value]) => value !== undefined);
    return Object.fromEntries(
      fields.map(([key, value]) => [key, requestOf(value, isObject(other) ? other[key] : undefined, given, sourceOf)]),
    );
  }
  if (one === other) return one;
  if (typeof one === 'string' && typeof other === 'string') {
    const [named, same] = given.map((values, index) => named_(index === 0 ? one : other, values));
    if (named === same) return { $text: named };
  }
  const source = sourceOf(one, other);
  return source ? { $answer: source } : one;
}

const named_ = (text: string, given: Given) =>
  Object.entries(given).reduce((all, [name, value]) => all.replaceAll(value, `\${${name}}`), text);

/** The request that a template stands for. @param answers of the calls before, by their numbers */
export function fill(template: Template, given: Given, answers: readonly unknown[]): unknown {
  if (Array.isArray(template)) return template.map((item) => fill(item, given, answers));
  if (!isObject(template)) return template;
  if ('$bytes' in template) return Buffer.from(String(template['$bytes']), 'base64');
  if ('$text' in template)
    return Object.entries(given).reduce((all, [name, value]) => all.replaceAll(`\${${name}}`, value), String(template['$text']));
  if ('$answer' in template) {
    let here: unknown = answers;
    for (const step of template['$answer'] as readonly (string | number)[])
      here = step === CLAIMS ? claimsOf(here) : typeof here === 'object' && here !== null ? Reflect.get(here, step) : undefined;
    return here;
  }
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value, given, answers)]));
}

/** The step of a way that leads into a token. */
export const CLAIMS = '$claims';

/** What a login token says. Undefined: the value is none. */
export function claimsOf(value: unknown): Record<string, unknown> | undefined {
  const [, claims] = typeof value === 'string' ? (/^eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+$/.exec(value) ?? []) : [];
  if (claims === undefined) return undefined;
  const parsed: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
  return isObject(parsed) ? parsed : undefined;
}
