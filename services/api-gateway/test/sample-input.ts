import { z } from 'zod';
import type { Route } from '../src/api/route.ts';

interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

const schemaOf = (route: Route) => z.toJSONSchema(route.input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;

/** An input that a route takes: every required field, and one element in every list. */
export function sampleInput(route: Route): unknown {
  return sample(schemaOf(route));
}

function sample(schema: JsonSchema): unknown {
  if (schema.anyOf) return sample(schema.anyOf[0] ?? {});
  if (schema.type === 'array') return [sample(schema.items ?? {})];
  if (schema.type === 'integer' || schema.type === 'number') return 1;
  if (schema.type === 'boolean') return false;
  if (schema.type === 'string') return 'x';
  const fields = Object.entries(schema.properties ?? {});
  return Object.fromEntries(
    fields.filter(([name, part]) => schema.required?.includes(name) || part.type === 'array').map(([name, part]) => [name, sample(part)]),
  );
}

/** Inputs in which one field each has a type that it must not have. */
export function wrongInputs(route: Route): unknown[] {
  const schema = schemaOf(route);
  if (schema.type === 'array') return ['not a list', { not: 'a list' }, [{}, 5]];
  const good = sample(schema) as Record<string, unknown>;
  return Object.entries(schema.properties ?? {})
    .filter(([, part]) => part.type !== undefined || part.anyOf !== undefined)
    .map(([name, part]) => ({ ...good, [name]: part.type === 'string' ? 5 : 'not of this type' }));
}

/** Names of the fields without which an input is refused. */
export const requiredFields = (route: Route): readonly string[] => schemaOf(route).required ?? [];
