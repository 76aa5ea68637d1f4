import { runService } from '@wharf/service-kit';
import { readAuthConfig } from './config.ts';
import { createAuthService } from './service.ts';

await runService({ name: 'auth', readConfig: readAuthConfig, create: createAuthService });
