import { runService } from '@wharf/service-kit';
import { createHttpByteWriter } from './clients/byte-writer.ts';
import { readDownloaderConfig } from './config.ts';
import { createDownloaderService } from './service.ts';

await runService({
  name: 'downloader',
  readConfig: readDownloaderConfig,
  create: (config, kit) => createDownloaderService(config, kit, createHttpByteWriter(kit, config.fsDataUrl)),
});
