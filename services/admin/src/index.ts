export { type AdminConfig, adminConfig } from './config.ts';
export { createAdminService } from './service.ts';
