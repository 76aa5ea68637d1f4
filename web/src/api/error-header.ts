/** The header that has the name of an error. */
export const ERROR_NAME = 'X-Error-Code';
