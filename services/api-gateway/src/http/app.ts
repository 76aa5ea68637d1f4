import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { settingsFrom } from '@wharf/models';
import { identify, nameError } from '@wharf/service-kit';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { createApiHandler, splitUrl } from './api-handler.ts';
import type { ByteHandler } from './byte-handler.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { installManifest } from './install-manifest.ts';
import { refuseCircle } from './refuse-circle.ts';
import { beforeRefusal, sendJson, sendText } from './send-answer.ts';
import { homePage, ICON, ICON_PATH, iconOf, manifestOf, missingPage, sendPage } from './site-pages.ts';
import { TASK_EVENTS_PATH, type TaskEvents } from './task-events.ts';
import { createWebPage, isRead, serveWebAssets } from './web-page.ts';

const HOUR_S = 3_600;

/**
 * The gateway's HTTP face, from the first byte of a request to the last of its answer. Express serves pages; routes of the table and bytes
 * are found without walking its layers.
 */
export function createApp(parts: GatewayParts, bytes: ByteHandler, taskEvents: TaskEvents): RequestListener {
  const api = createApiHandler(parts);
  const answer = (request: IncomingMessage, response: ServerResponse): Promise<void> | undefined => {
    const refused = refuseCircle(parts.kit.keys.installation, request, response);
    if (refused !== undefined) return refused;
    const answered = bytes(request, response);
    if (answered !== undefined) return answered;
    const { path } = splitUrl(request.url ?? '/');
    if (path !== '/api' && !path.startsWith('/api/')) return undefined;
    return path === TASK_EVENTS_PATH && request.method !== 'OPTIONS' ? taskEvents(request, response) : api(request, response);
  };
  const fail = (error: unknown, request: IncomingMessage, response: ServerResponse) => {
    // Express cannot decode a part of the address.
    if (error instanceof URIError) return sendText(response, 400, 'the address is not percent-encoded UTF-8\n');
    parts.kit.logger.error({ err: error, requestId: parts.scopes.of(request).id }, 'unforeseen error');
    if (response.headersSent) return void response.destroy();
    nameError(response, { code: 'INTERNAL' });
    if (request.url?.startsWith('/api')) sendJson(response, JSON.stringify({ code: 500, message: 'internal error', data: null }));
    else sendText(response, 500, 'internal error\n');
  };
  const pages = createPages(parts, fail);
  return (request, response) => {
    const { span } = parts.scopes.open(request, response);
    const begin = () => {
      const answered = answer(request, response);
      if (answered === undefined) pages(request, response);
      else answered.catch((error: unknown) => fail(error, request, response));
    };
    if (span) span.run(begin);
    else begin();
  };
}

function createPages(parts: GatewayParts, fail: (error: unknown, request: Request, response: Response) => void): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((request, response, next) => {
    // Express has given the answer another prototype, which tells no id by itself.
    identify(response, parts.scopes.of(request).id);
    next();
  });
  app.all('/ping', (request, response) => {
    parts.scopes.of(request).route = '/ping';
    sendText(response, 200, 'pong');
  });
  addSitePages(app, parts);
  // Express tells an error handler from others by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => fail(error, request, response));
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
  app.get('/i/:name.plist', async (request, response) => {
    parts.scopes.of(request).route = '/i/:name.plist';
    try {
      const manifest = installManifest(String(request.params['name']));
      response.set({ 'Content-Type': 'application/xml; charset=utf-8', 'X-Content-Type-Options': 'nosniff' }).send(manifest);
    } catch (error) {
      if (!AppError.is(error)) throw error;
      sendText(response, 400, `${error.message}\n`);
    }
  });
  const web = createWebPage(parts.webDir);
  if (parts.webDir !== undefined) serveWebAssets(app, parts.webDir);
  app.use((request, response, next) => {
    if (web?.state() !== 'built' || !(request.path === '/' ? isRead(request) : web.isAddress(request))) return next();
    parts.scopes.of(request).route = 'page';
    web.send(response);
  });
  app.get('/', async (request, response) => {
    parts.scopes.of(request).route = '/';
    sendPage(response, 200, homePage(await parts.settings(), web?.state()));
  });
  app.use(async (request, response) => {
    parts.scopes.of(request).route = 'no page';
    const settings = await parts.settings().catch(() => settingsFrom(undefined));
    if (await beforeRefusal(request, response)) sendPage(response, 404, missingPage(settings));
  });
}
