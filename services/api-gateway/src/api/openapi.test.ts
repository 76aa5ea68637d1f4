import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from './openapi.ts';
import { BYTE_ROUTES, EVENT_ROUTES, indexRoutes, ROUTES } from './route-table.ts';

const document = JSON.parse(JSON.stringify(openApiDocument(ROUTES, BYTE_ROUTES, EVENT_ROUTES)));

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('has every route and nothing else', () => {
    const paths = [...ROUTES, ...BYTE_ROUTES, ...EVENT_ROUTES].map((route) => route.path);
    expect(Object.keys(document.paths).sort()).toEqual([...paths].sort());
  });

  it('operation ids are different', () => {
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((path) =>
      Object.values(path).map((operation) => operation.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('says who may call and which bit a caller needs', () => {
    expect(document.paths['/api/fs/rename'].post).toMatchObject({
      security: [{}, { token: [] }],
      'x-wharf-access': 'guest',
      'x-wharf-permission': { name: 'rename', value: 16 },
    });
    expect(document.paths['/api/public/settings'].get.security).toEqual([]);
    expect(document.paths['/api/admin/user/list'].get.security).toEqual([{ token: [] }]);
  });

  it('describes inputs by their schemas', () => {
    const { schema } = document.paths['/api/auth/login'].post.requestBody.content['application/json'];
    expect(schema).toMatchObject({ type: 'object', required: ['username'], properties: { username: { type: 'string' } } });
    expect(document.paths['/api/admin/storage/get'].get.parameters).toMatchObject([{ name: 'id', in: 'query', required: true }]);
  });
});

describe('what the OpenAPI document says of answers', () => {
  const answerOf = (path: string, method: string) => document.paths[path][method].responses['200'].content;

  it('data belongs to success; a failure has none unless the route says which', () => {
    const [success, failure] = answerOf('/api/admin/storage/update', 'post')['application/json'].schema.anyOf;
    expect(success.properties).toMatchObject({ code: { const: 200 }, data: { type: 'null' } });
    expect(failure.properties).toMatchObject({ code: { not: { const: 200 } } });
    expect(failure.properties.data.anyOf).toMatchObject([{ properties: { id: { type: 'integer' } } }, { type: 'null' }]);
    expect(answerOf('/api/fs/list', 'post')['application/json'].schema.anyOf[1].properties.data).toEqual({ type: 'null' });
  });

  it('a stream of events has a shape for each of them, and an envelope for whoever may not watch', () => {
    const content = answerOf('/api/task/events', 'get');
    expect(Object.keys(content)).toEqual(['text/event-stream', 'application/json']);
    const { snapshot, task, removed } = content['text/event-stream']['x-wharf-events'];
    expect(snapshot).toMatchObject({ type: 'array', items: { properties: { status: { type: 'string' } } } });
    expect(task.required).toContain('progress');
    expect(removed.required).toEqual(['id']);
  });
});

describe('the route table', () => {
  it('no two routes share a path', () => {
    expect(indexRoutes([...ROUTES, ...BYTE_ROUTES]).size).toBe(ROUTES.length + BYTE_ROUTES.length);
    expect(() => indexRoutes([{ path: '/api/me' }, { path: '/api/me' }])).toThrow();
  });

  it('everything under /api/admin is for the administrator', () => {
    for (const route of ROUTES) if (route.path.startsWith('/api/admin/')) expect(route.access, route.path).toBe('admin');
  });
});
