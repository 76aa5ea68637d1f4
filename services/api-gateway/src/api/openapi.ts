import { ERROR_CODES } from '@wharf/errors';
import { PERMISSION } from '@wharf/rights';
import { ERROR_NAME_HEADER } from '@wharf/service-kit';
import { z } from 'zod';
import type { Method, Route } from './route.ts';
import type { ByteRoute, EventRoute } from './route-table.ts';

type Json = Readonly<Record<string, unknown>>;

const SECURITY = { public: [], guest: [{}, { token: [] }], user: [{ token: [] }], admin: [{ token: [] }] } as const;

/** The OpenAPI 3.1 document of the route table. */
export function openApiDocument(routes: readonly Route[], byteRoutes: readonly ByteRoute[], eventRoutes: readonly EventRoute[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes)
    paths[route.path] = Object.fromEntries(methodsOf(route).map((method) => [method.toLowerCase(), operation(route, method)]));
  for (const route of byteRoutes) paths[route.path] = { [route.method.toLowerCase()]: byteOperation(route) };
  for (const route of eventRoutes) paths[route.path] = { get: eventOperation(route) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wharf',
      version: '1',
      description:
        'A storage gateway. Every answer has the HTTP status 200 and an envelope, whose `code` is 200 or says what went wrong. Uploads by tus 1.0 (https://tus.io) begin at `/api/fs/tus`, with the headers of `put`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      headers: {
        [ERROR_NAME_HEADER]: {
          description: 'The name of the error, where the answer is one. Names stay; texts of messages may change.',
          schema: { type: 'string', enum: Object.keys(ERROR_CODES) },
        },
      },
      securitySchemes: {
        token: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'The token of a login, with or without `Bearer`.' },
      },
    },
  };
}

/** The methods under which a route is documented; one that answers any is documented under the two in use. */
function methodsOf(route: Route): readonly Method[] {
  return route.methods === 'any' ? ['GET', 'POST'] : route.methods;
}

function operation(route: Route, method: Method): Json {
  const input = schemaOf(route.input);
  const isInBody = method !== 'GET' && route.takes === 'body';
  const bit = route.permission && { name: route.permission, value: PERMISSION[route.permission] };
  return {
    operationId: operationId(method, route.path),
    summary: route.summary,
    tags: [tagOf(route.path)],
    security: SECURITY[route.access],
    'x-wharf-access': route.access,
    ...(bit && { 'x-wharf-permission': bit }),
    ...(isInBody
      ? { requestBody: { required: true, content: { 'application/json': { schema: input } } } }
      : { parameters: parametersOf(input) }),
    responses: { '200': envelopeOf(schemaOf(route.answer, 'output'), route.failureData && schemaOf(route.failureData.shape, 'output')) },
  };
}

function byteOperation(route: ByteRoute): Json {
  const file = { type: 'string', format: 'binary' };
  const isForm = route.body?.startsWith('multipart/');
  const data = route.answer && schemaOf(route.answer, 'output');
  return {
    operationId: operationId(route.method, route.path),
    summary: route.summary,
    tags: [tagOf(route.path)],
    security: SECURITY[route.access],
    'x-wharf-access': route.access,
    'x-wharf-permission': { name: 'write', value: PERMISSION.write },
    parameters: route.parameters.map((parameter) => ({ ...parameter, schema: { type: 'string' } })),
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        content: { [route.body]: { schema: isForm ? { type: 'object', properties: { file }, required: ['file'] } : file } },
      },
    }),
    responses: { '200': envelopeOf(data ?? { type: ['object', 'null'] }, data) },
  };
}

function eventOperation({ path, summary, access, events }: EventRoute): Json {
  return {
    operationId: operationId('GET', path),
    summary,
    tags: [tagOf(path)],
    security: SECURITY[access],
    'x-wharf-access': access,
    responses: {
      '200': {
        description:
          'Server-sent events until the caller goes away or may not watch any more; `x-wharf-events` has the data of each. An envelope for whoever may not watch.',
        content: {
          'text/event-stream': {
            schema: { type: 'string' },
            'x-wharf-events': Object.fromEntries(Object.entries(events).map(([name, shape]) => [name, schemaOf(shape, 'output')])),
          },
          'application/json': { schema: failureSchema() },
        },
      },
    },
  };
}

function envelopeOf(data: Json, failureData?: Json): Json {
  return {
    description: 'The envelope. On a failure `code` is not 200 and `message` says why.',
    headers: { [ERROR_NAME_HEADER]: { $ref: `#/components/headers/${ERROR_NAME_HEADER}` } },
    content: { 'application/json': { schema: { anyOf: [envelopeSchema({ const: 200 }, data), failureSchema(failureData)] } } },
  };
}

/** @param data what it may have beside null */
function failureSchema(data?: Json): Json {
  const nothing = { type: 'null' };
  return envelopeSchema({ type: 'integer', not: { const: 200 } }, data === undefined ? nothing : { anyOf: [data, nothing] });
}

function envelopeSchema(code: Json, data: Json): Json {
  return { type: 'object', required: ['code', 'message', 'data'], properties: { code, message: { type: 'string' }, data } };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): Json {
  const { $schema: _draft, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

function parametersOf(input: Json): Json[] {
  const properties = Object.entries(z.record(z.string(), z.unknown()).catch({}).parse(input['properties']));
  const required = z.array(z.string()).catch([]).parse(input['required']);
  return properties.map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema }));
}

/** `post` and `/api/fs/list` give `postFsList`. */
function operationId(method: Method, path: string): string {
  const words = path.split(/[/_]/).slice(2);
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

const tagOf = (path: string) =>
  path
    .split('/')
    .slice(2, path.startsWith('/api/admin/') ? 4 : 3)
    .join(' ');
