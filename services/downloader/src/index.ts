export { downloaderConfig } from './config.ts';
export { createDownloaderService } from './service.ts';
