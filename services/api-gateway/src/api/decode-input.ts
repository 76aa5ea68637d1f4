import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { parsePairs } from './parse-pairs.ts';

/** The input of a request before it is checked. */
export interface RawInput {
  readonly query: string;
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'json'; readonly value: unknown }
    | { readonly kind: 'form'; readonly fields: Iterable<readonly [string, string]> };
}

/** The place of a field in the input, and the type that a text for it is turned into. */
type Plan =
  | { readonly kind: 'text' | 'number' | 'flag' | 'other' }
  | { readonly kind: 'list'; readonly element: Plan; readonly schema: z.core.$ZodType }
  | { readonly kind: 'record'; readonly fields: ReadonlyMap<string, { readonly name: string; readonly plan: Plan }> };

/** The most elements of a list in an input. More in one request would keep other requests waiting. */
export const MAX_ELEMENTS = 10_000;

/**
 * Makes the function that turns the fields of a request into a route's input.
 *
 * Keys are compared without regard to case, unknown ones are passed over, and null counts as absent. JSON values must have their declared
 * type; texts of a form or a query are read as the number or truth value that is declared, and an empty one is absent. Fields of the query
 * count where the body has none of that name, unless `isBodyOnly` and the body is JSON.
 *
 * The function throws AppError INVALID_ARGUMENT with a sentence that names the field; `refusal`, where given, takes its place.
 */
export function createInputDecoder<Input extends z.ZodType>(
  schema: Input,
  options: { isBodyOnly: boolean; refusal?: string | undefined },
): (raw: RawInput) => z.output<Input> {
  const plan = planOf(schema);
  return (raw) => {
    const found = raw.body.kind === 'json' && plan.kind === 'list' ? arrange(raw.body.value, plan) : collect(raw, plan, options.isBodyOnly);
    const parsed = schema.safeParse(found);
    if (parsed.success) return parsed.data;
    const sentence = parsed.error.issues.slice(0, 1).map((issue) => sentenceOf(issue, found));
    throw new AppError('INVALID_ARGUMENT', options.refusal ?? sentence.join(), { details: { fields: parsed.error.issues.map(fieldOf) } });
  };
}

function collect(raw: RawInput, plan: Plan, isBodyOnly: boolean): unknown {
  if (plan.kind !== 'record') return undefined;
  const found: Record<string, unknown> = Object.create(null);
  const isJson = raw.body.kind === 'json';
  if (raw.query !== '' && !(isJson && isBodyOnly)) addTexts(found, parsePairs(raw.query), plan);
  if (raw.body.kind === 'form') addTexts(found, raw.body.fields, plan);
  if (raw.body.kind !== 'json' || raw.body.value === null) return arrange(found, plan);
  const { value } = raw.body;
  if (typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.assign(found, arrange(value, plan));
}

/**
 * The declared part of a value under its declared names. Its depth is that of the plan. A list is cut behind its first wrong element, and
 * behind the first element over the limit. So the schema reports one issue instead of one for each element.
 */
function arrange(value: unknown, plan: Plan): unknown {
  if (plan.kind === 'list' && Array.isArray(value)) {
    const elements: unknown[] = [];
    for (const raw of value.slice(0, MAX_ELEMENTS + 1)) {
      const element = arrange(raw, plan.element);
      elements.push(element);
      if (!z.core.safeParse(plan.schema, element).success) break;
    }
    return elements;
  }
  if (plan.kind !== 'record' || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const found: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value)) {
    const field = plan.fields.get(key) ?? plan.fields.get(key.toLowerCase());
    const part: unknown = field && Reflect.get(value, key);
    if (field && part !== null) found[field.name] = arrange(part, field.plan);
  }
  return found;
}

function addTexts(found: Record<string, unknown>, pairs: Iterable<readonly [string, string]>, plan: Plan & { kind: 'record' }): void {
  for (const [key, value] of pairs) {
    const field = plan.fields.get(key) ?? plan.fields.get(key.toLowerCase());
    if (!field) continue;
    if (field.plan.kind === 'list') {
      const known = found[field.name];
      const element = readText(value, field.plan.element);
      if (Array.isArray(known)) known.push(element);
      else found[field.name] = [element];
    } else if (!(field.name in found) || value !== '') {
      found[field.name] = readText(value, field.plan);
    }
  }
}

/** The value that a text stands for; the text itself when it stands for none, so that the schema refuses it. */
function readText(value: string, { kind }: Plan): unknown {
  if (kind === 'text' || kind === 'other') return kind === 'other' && value === '' ? undefined : value;
  if (value === '') return undefined;
  if (kind === 'number') return /^[+-]?\d+$/.test(value) ? Number(value) : value;
  if (kind === 'flag') return /^(?:1|t|true)$/i.test(value) ? true : /^(?:0|f|false)$/i.test(value) ? false : value;
  return value;
}

function planOf(schema: z.core.$ZodType): Plan {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return planOf(schema.unwrap());
  if (schema instanceof z.ZodString) return { kind: 'text' };
  if (schema instanceof z.ZodNumber) return { kind: 'number' };
  if (schema instanceof z.ZodBoolean) return { kind: 'flag' };
  if (schema instanceof z.ZodArray) return { kind: 'list', element: planOf(schema.element), schema: schema.element };
  if (!(schema instanceof z.ZodObject)) return { kind: 'other' };
  const fields = Object.entries(schema.shape).map(([name, part]) => [name.toLowerCase(), { name, plan: planOf(part) }] as const);
  return { kind: 'record', fields: new Map(fields) };
}

function sentenceOf(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === 'custom') return issue.message;
  const value = valueAt(input, issue.path);
  const field = issue.path.length === 0 ? 'the input' : `the field '${fieldOf(issue)}'`;
  if (value === undefined || (issue.code === 'too_small' && value === '')) return `${field} is required`;
  if (issue.code === 'invalid_type') return `${field} must be ${article(issue.expected)}, not ${article(typeName(value))}`;
  if (issue.code === 'invalid_union') return `${field} must be a number`;
  return `${field} is not usable: ${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}`;
}

const fieldOf = (issue: z.core.$ZodIssue) => issue.path.map(String).join('.');

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined), input);
}

const article = (type: string) => (type === 'null' ? type : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`);

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && !Number.isInteger(value) ? 'fraction' : typeof value;
}
