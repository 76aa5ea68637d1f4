export { AppError, type ErrorDetails } from './app-error.ts';
export { ERROR_CODES, type ErrorCode, isErrorCode, type Retry } from './codes.ts';
