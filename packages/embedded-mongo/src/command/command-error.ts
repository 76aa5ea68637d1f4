import type { Doc } from '../bson/value.ts';

/** Error codes that the store answers, with the names MongoDB gives them (src/mongo/base/error_codes.yml of the server documents both). */
export const CODES = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  TypeMismatch: 14,
  Overflow: 15,
  InvalidLength: 16,
  IllegalOperation: 20,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  MaxTimeMSExpired: 50,
  DollarPrefixedFieldName: 52,
  InvalidIdField: 53,
  NotSingleValueField: 54,
  EmptyFieldName: 56,
  DottedFieldName: 57,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  InvalidPipelineOperator: 168,
  CannotIndexParallelArrays: 171,
  QueryPlanKilled: 175,
  InvalidIndexSpecificationOption: 197,
  QueryExceededMemoryLimitNoDiskUseAllowed: 292,
  TooManyOpenCursors: 8000,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  OutOfDiskSpace: 14031,
  Location15947: 15947,
  Location15952: 15952,
  Location15955: 15955,
  Location15958: 15958,
  Location15959: 15959,
  Location15969: 15969,
  Location15973: 15973,
  Location15976: 15976,
  Location15981: 15981,
  Location16020: 16020,
  Location16410: 16410,
  Location16702: 16702,
  Location17124: 17124,
  Location17217: 17217,
  Location17276: 17276,
  Location17419: 17419,
  Location28808: 28808,
  Location28809: 28809,
  Location28810: 28810,
  Location28811: 28811,
  Location28818: 28818,
  Location31002: 31002,
  Location31119: 31119,
  Location31249: 31249,
  Location31253: 31253,
  Location31254: 31254,
  Location40081: 40081,
  Location40156: 40156,
  Location40157: 40157,
  Location40158: 40158,
  Location40159: 40159,
  Location40160: 40160,
  Location40169: 40169,
  Location40170: 40170,
  Location40176: 40176,
  Location40228: 40228,
  Location40234: 40234,
  Location40235: 40235,
  Location40236: 40236,
  Location40237: 40237,
  Location40238: 40238,
  Location40323: 40323,
  Location40324: 40324,
  Location40414: 40414,
  Location40415: 40415,
  Location40600: 40600,
  Location51024: 51024,
  Location51091: 51091,
  Location51272: 51272,
  Location5107201: 5107201,
} as const;

export type CodeName = keyof typeof CODES;

/** A failure that the client is told, in MongoDB's vocabulary. It never leaves the worker as an exception. */
export class CommandError extends Error {
  readonly codeName: CodeName;
  readonly code: number;
  /** Further fields of the answer, for example `keyPattern` and `keyValue`. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(codeName: CodeName, message: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = 'CommandError';
    this.codeName = codeName;
    this.code = CODES[codeName];
    this.fields = fields;
  }

  static duplicateKey(namespace: string, index: { name: string; pattern: Doc }, keyValue: Doc, shown: string): CommandError {
    return new CommandError('DuplicateKey', `E11000 duplicate key error collection: ${namespace} index: ${index.name} dup key: ${shown}`, {
      keyPattern: index.pattern,
      keyValue,
    });
  }
}
