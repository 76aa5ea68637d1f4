import { runService } from '@wharf/service-kit';
import { readDownloaderConfig } from './config.ts';
import { createDownloaderService } from './service.ts';

await runService({ name: 'downloader', readConfig: readDownloaderConfig, create: createDownloaderService });
