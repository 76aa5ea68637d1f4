import type { RequestListener } from 'node:http';
import { settingsFrom } from '@wharf/models';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { createApiHandler } from './api-handler.ts';
import type { ByteHandler } from './byte-handler.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { beforeRefusal, sendJson, sendText } from './send-answer.ts';
import { homePage, ICON, ICON_PATH, iconOf, manifestOf, missingPage, sendPage } from './site-pages.ts';
import { TASK_EVENTS_PATH, type TaskEvents } from './task-events.ts';

const HOUR_S = 3_600;

/** The gateway's HTTP face, from the first byte of a request to the last of its answer. */
export function createApp(parts: GatewayParts, bytes: ByteHandler, taskEvents: TaskEvents): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');

  app.use((request, response, next) => {
    parts.scopes.open(request, response);
    next();
  });
  app.all('/ping', (request, response) => {
    parts.scopes.of(request).route = '/ping';
    sendText(response, 200, 'pong');
  });
  app.use((request, response, next) => {
    bytes(request, response).then((isHandled) => isHandled || next(), next);
  });
  const api = createApiHandler(parts);
  app.use((request, response, next) => {
    if (!/^\/api(?:[/?]|$)/.test(request.url)) return next();
    if (request.path === TASK_EVENTS_PATH && request.method !== 'OPTIONS') return void taskEvents(request, response).catch(next);
    api(request, response).catch(next);
  });
  addSitePages(app, parts);
  // Express tells an error handler from others by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    parts.kit.logger.error({ err: error, requestId: parts.scopes.of(request).id }, 'unforeseen error');
    if (response.headersSent) return void response.destroy();
    if (request.url.startsWith('/api')) sendJson(response, JSON.stringify({ code: 500, message: 'internal error', data: null }));
    else sendText(response, 500, 'internal error\n');
  });
  return app;
}

function addSitePages(app: Express, parts: GatewayParts): void {
  app.get('/robots.txt', async (request, response) => {
    parts.scopes.of(request).route = '/robots.txt';
    sendText(response, 200, (await parts.settings()).text('robots_txt'));
  });
  app.get('/favicon.ico', async (request, response) => {
    parts.scopes.of(request).route = '/favicon.ico';
    response.redirect(302, iconOf(await parts.settings()));
  });
  app.get(ICON_PATH, (request, response) => {
    parts.scopes.of(request).route = ICON_PATH;
    response
      .writeHead(200, {
        'Content-Type': 'image/svg+xml',
        'Content-Length': Buffer.byteLength(ICON),
        'Cache-Control': `public, max-age=${HOUR_S}`,
        'Content-Security-Policy': "default-src 'none'; sandbox",
        'X-Content-Type-Options': 'nosniff',
      })
      .end(ICON);
  });
  app.get('/manifest.json', async (request, response) => {
    parts.scopes.of(request).route = '/manifest.json';
    const manifest = manifestOf(await parts.settings());
    response.set('Cache-Control', `public, max-age=${HOUR_S}`).json(manifest);
  });
  app.get('/', async (request, response) => {
    parts.scopes.of(request).route = '/';
    sendPage(response, 200, homePage(await parts.settings()));
  });
  app.use(async (request, response) => {
    parts.scopes.of(request).route = 'no page';
    const settings = await parts.settings().catch(() => settingsFrom(undefined));
    if (await beforeRefusal(request, response)) sendPage(response, 404, missingPage(settings));
  });
}
