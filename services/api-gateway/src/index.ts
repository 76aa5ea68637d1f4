export { type GatewayConfig, gatewayConfig } from './config.ts';
export { createGatewayService } from './service.ts';
