export { type AuthConfig, authConfig } from './config.ts';
export { createAuthService } from './service.ts';
