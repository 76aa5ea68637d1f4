import { runService } from '@wharf/service-kit';
import { readFsConfig } from './config.ts';
import { createFsService } from './service.ts';

await runService({ name: 'fs', readConfig: readFsConfig, create: createFsService });
