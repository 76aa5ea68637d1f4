/** What the web page knows of the API: the input and the answer of every operation and the names of errors, as TypeScript, from the OpenAPI document alone. */

type Json = unknown;

/** One row for each path. Of a path that answers GET and POST alike, the page uses POST. */
export function clientTypes(document: Json): string {
  const rows = Object.entries(record(field(document, 'paths')))
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([path, methods]) => rowOf(path, record(methods)));
  return [
    '// From the OpenAPI document by `npm run gen`.',
    '',
    '/** Every call of the API: what it takes and what it answers. */',
    'export interface Operations {',
    ...rows.map(({ path, input, answer }) => `  '${path}': { input: ${input}; answer: ${answer} };`),
    '}',
    '',
    '/** The names of errors, as the header X-Error-Code has them. */',
    `export type ErrorName = ${typeOf(errorNames(document))};`,
    '',
    '/** How a call travels where that is not a POST with a body of JSON. */',
    "export const TRAVELS: Readonly<Record<string, 'get' | 'query' | 'header'>> = {",
    ...rows.filter(({ travels }) => travels !== 'body').map(({ path, travels }) => `  '${path}': '${travels}',`),
    '};',
    '',
  ].join('\n');
}

function errorNames(document: Json): Json {
  const headers = field(field(document, 'components'), 'headers');
  return field(field(headers, 'X-Error-Code'), 'schema');
}

function rowOf(path: string, methods: Readonly<Record<string, Json>>) {
  const operation = methods['post'] ?? methods['get'];
  const answers = field(field(field(field(operation, 'responses'), '200'), 'content'), 'application/json');
  const envelopes = field(field(answers, 'schema'), 'anyOf');
  // Bytes and events are not called like this.
  if (operation === undefined || !Array.isArray(envelopes)) return [];
  if (field(field(field(field(operation, 'responses'), '200'), 'content'), 'text/event-stream') !== undefined) return [];
  const body = field(field(field(field(operation, 'requestBody'), 'content'), 'application/json'), 'schema');
  const travels = methods['post'] === undefined ? 'get' : body !== undefined ? 'body' : isByHeader(operation) ? 'header' : 'query';
  const input = body === undefined ? parametersType(field(operation, 'parameters')) : typeOf(body);
  return [{ path, travels, input, answer: typeOf(field(field(envelopes[0], 'properties'), 'data')) }];
}

function isByHeader(operation: Json): boolean {
  const parameters = field(operation, 'parameters');
  return Array.isArray(parameters) && parameters.length > 0 && parameters.every((each) => field(each, 'in') === 'header');
}

function parametersType(parameters: Json): string {
  if (!Array.isArray(parameters) || parameters.length === 0) return 'Record<string, never>';
  const members = parameters.map((each) => {
    const mark = field(each, 'required') === true ? '' : '?';
    return `${keyOf(String(field(each, 'name')))}${mark}: ${typeOf(field(each, 'schema'))}`;
  });
  return `{ ${members.join('; ')} }`;
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  null: 'null',
};

function typeOf(schema: Json): string {
  const either = field(schema, 'anyOf') ?? field(schema, 'oneOf');
  if (Array.isArray(either)) return [...new Set(either.map(typeOf))].join(' | ');
  if (field(schema, 'const') !== undefined) return JSON.stringify(field(schema, 'const'));
  const values = field(schema, 'enum');
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
  const type = field(schema, 'type');
  if (type === 'array') return `readonly (${typeOf(field(schema, 'items'))})[]`;
  if (type === 'object') return objectType(schema);
  return SIMPLE[String(type)] ?? 'unknown';
}

function objectType(schema: Json): string {
  const properties = Object.entries(record(field(schema, 'properties')));
  const more = field(schema, 'additionalProperties');
  if (properties.length === 0) return more === undefined || more === false ? 'Record<string, never>' : `Record<string, ${typeOf(more)}>`;
  const required = field(schema, 'required');
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return `{ ${properties.map(([name, each]) => `${keyOf(name)}${isRequired(name) ? '' : '?'}: ${typeOf(each)}`).join('; ')} }`;
}

/** A name as a member of a type. */
function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function field(value: Json, name: string): Json {
  return record(value)[name];
}

function record(value: Json): Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, Json>) : {};
}
