import { runService } from '@wharf/service-kit';
import { readGatewayConfig } from './config.ts';
import { createGatewayService } from './service.ts';

await runService({ name: 'api-gateway', readConfig: readGatewayConfig, create: createGatewayService });
