import { readdirSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { endWhenIdle } from '@wharf/service-kit';
import type { Express, Request, Response } from 'express';
import { STALL_MS } from './send-answer.ts';

/** First segments that belong to clients of the API; whoever asks below them is no page. */
const OTHERS = /^\/(?:api|d|p|ad|ap|ae|sd|sad|dav|s3|mcp|i|ping|assets|images|static|streamer)(?:\/|$)/i;

/** Where the files of a build lie; their names change with what is in them. */
const ASSETS = '/assets/';
const YEAR_S = 31_536_000;
/** Of a build that failed: why. */
const FAILURE_FILE = 'failed.txt';

/**
 * Scripts and styles are files of the page's own. Pictures, films and sounds may come from a storage elsewhere, by its signed links. Texts become
 * elements only where one of these policies made them: the templates of the build, and what DOMPurify has cleaned.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "img-src 'self' data: blob: http: https:",
  "media-src 'self' blob: http: https:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types wharf-templates wharf-worker dompurify',
].join('; ');

/** Whether a request asks for what is there. */
export const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD';

/** The built page. */
export interface WebPage {
  /** `built`; `awaited`: its build goes on; else why there is none. */
  state(): 'built' | 'awaited' | { readonly failure: string };
  /** Answers with the page: what is shown is the page's own business. */
  send(response: Response): void;
  /** Whether an address is one that the page shows something at. */
  isAddress(request: Request): boolean;
}

/** @param folder of a build, which may come later; undefined: this Wharf has no page. */
export function createWebPage(folder: string | undefined): WebPage | undefined {
  if (folder === undefined) return undefined;
  let html: string | undefined;
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      return undefined;
    }
  };
  return {
    state() {
      html ??= read('index.html');
      if (html !== undefined) return 'built';
      const failure = read(FAILURE_FILE);
      return failure === undefined ? 'awaited' : { failure };
    },
    send(response) {
      response
        .status(200)
        .set({
          'Content-Type': 'text/html; charset=utf-8',
          'Cache-Control': 'no-cache',
          'Content-Security-Policy': CONTENT_SECURITY_POLICY,
          'Cross-Origin-Opener-Policy': 'same-origin',
          'Referrer-Policy': 'same-origin',
          'X-Content-Type-Options': 'nosniff',
          'X-Frame-Options': 'DENY',
        })
        .end(html);
    },
    isAddress(request) {
      const wantsPage = /\btext\/html\b/.test(request.headers.accept ?? '');
      return isRead(request) && wantsPage && !OTHERS.test(request.path);
    },
  };
}

/**
 * Serves the scripts, styles and fonts of a build, compressed as the build has them. Each is read once and kept, some megabytes in all: clients that take
 * nothing hold no file open, however many they are, and are cut off.
 */
export function serveWebAssets(app: Express, folder: string): void {
  let files: ReadonlySet<string> | undefined;
  const kept = new Map<string, Promise<{ readonly bytes: Buffer; readonly modifiedAt: Date }>>();
  const read = (name: string) => {
    const known = kept.get(name) ?? readAsset(join(folder, ASSETS, name));
    kept.set(name, known);
    known.catch(() => kept.delete(name));
    return known;
  };
  app.get(`${ASSETS}:name`, async (request, response, next) => {
    files ??= listAssets(folder);
    const name = String(request.params['name']);
    if (!files?.has(name)) return next();
    const accepted = request.headers['accept-encoding'] ?? '';
    const [encoding, ending] = (
      [
        ['br', '.br'],
        ['gzip', '.gz'],
      ] as const
    ).find(([word, end]) => new RegExp(`\\b${word}\\b`).test(accepted) && files?.has(name + end)) ?? ['', ''];
    const { bytes, modifiedAt } = await read(name + ending);
    response.type(name).set({
      'Cache-Control': `public, max-age=${YEAR_S}, immutable`,
      'Last-Modified': modifiedAt.toUTCString(),
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
    });
    if (encoding !== '') response.set('Content-Encoding', encoding);
    endWhenIdle(response, false, STALL_MS);
    response.send(bytes);
  });
}

async function readAsset(path: string) {
  const [bytes, { mtime }] = await Promise.all([readFile(path), stat(path)]);
  return { bytes, modifiedAt: mtime };
}

/** Undefined while there is no build. */
function listAssets(folder: string): ReadonlySet<string> | undefined {
  try {
    return new Set(readdirSync(join(folder, ASSETS)));
  } catch {
    return undefined;
  }
}
