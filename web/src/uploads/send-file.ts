import { ApiError, openEnvelope, token } from '../api/call.ts';

export interface SendOptions {
  readonly file: File;
  readonly path: string;
  readonly overwrite: boolean;
  readonly onProgress: (sentBytes: number) => void;
  readonly signal: AbortSignal;
}

/** Brings one file to its path. Never rejects but when it was aborted. */
export type SendFile = (options: SendOptions) => Promise<{ state: 'done' } | { state: 'exists' } | { state: 'failed'; error: string }>;

/** By one request. XMLHttpRequest, since fetch does not tell how much was sent. */
export const sendFile: SendFile = ({ file, path, overwrite, onProgress, signal }) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', '/api/fs/put');
    request.setRequestHeader('File-Path', path.split('/').map(encodeURIComponent).join('/'));
    request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
    request.setRequestHeader('Last-Modified', String(file.lastModified));
    request.setRequestHeader('Overwrite', String(overwrite));
    if (token() !== '') request.setRequestHeader('Authorization', token());
    request.responseType = 'json';
    request.upload.addEventListener('progress', (event) => onProgress(event.loaded));
    request.addEventListener('load', () => {
      try {
        openEnvelope(request.response);
        resolve({ state: 'done' });
      } catch (error) {
        const isTaken = !overwrite && error instanceof ApiError && error.code === 403 && /exists$/.test(error.message);
        resolve(isTaken ? { state: 'exists' } : { state: 'failed', error: error instanceof Error ? error.message : String(error) });
      }
    });
    request.addEventListener('error', () => resolve({ state: 'failed', error: '' }));
    signal.addEventListener('abort', () => {
      request.abort();
      reject(signal.reason);
    });
    request.send(file);
  });
