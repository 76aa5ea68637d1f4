export type { ByteWriter } from './clients/byte-writer.ts';
export { downloaderConfig } from './config.ts';
export { createDownloaderService } from './service.ts';
