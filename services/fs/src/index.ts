export { fsConfig } from './config.ts';
export { createFsService } from './service.ts';
