export { AppError, type ErrorDetails } from './app-error.ts';
export { codeMeans, ERROR_CODES, type ErrorCode, isErrorCode, type Meaning, type Retry } from './codes.ts';
export { systemCodeOf } from './system-code.ts';
