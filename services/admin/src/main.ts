import { runService } from '@wharf/service-kit';
import { readAdminConfig } from './config.ts';
import { createAdminService } from './service.ts';

await runService({ name: 'admin', readConfig: readAdminConfig, create: createAdminService });
