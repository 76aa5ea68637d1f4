import type { RealEngine } from '../real-engine.ts';

/** Rules that an engine does not keep, by title, with what it does instead. MongoDB's documentation decides what the rule is. */
export const KNOWN_DIFFERENCES: Readonly<Record<RealEngine['kind'], Readonly<Record<string, string>>>> = {
  mongodb: {},
  documentdb: {
    'an unknown field of a command is refused': 'the code is 2 instead of 40415',
    'an array is no _id': 'the code is 2 instead of 53',
    'collections are created once, listed and dropped': 'creating a collection again succeeds',
    'a dollar field is not stored': 'it is stored; MongoDB stores it too since 5.0 in some places, the embedded store nowhere',
    'a dollar field is not set': 'it is set',
    'a transaction is refused': 'the fields are ignored',
    'inclusion and exclusion are not mixed': 'both mixes have the code 31254',
    'an empty array sorts below null': 'it sorts as null does',
    'a negative skip is refused': 'the code is 5107200 instead of 51024',
    '$pop from a scalar is refused': 'the code is 2 instead of 14',
    'an empty part of a path is refused': 'the code is 2 instead of 56',
    'a pipeline takes no $match': 'the code is one of its own',
    'an unknown expression is refused': 'the code is one of its own',
    'an unknown variable is refused': 'the code is one of its own',
    'a wrong number of arguments is refused': 'the code is one of its own',
    'an upsert from a path that is matched twice is refused': 'the code is one of its own',
    'a document that grows beyond 16 MiB is refused': 'the code is one of its own',
    'a unique index refuses a second document of the same value': 'the error has no keyPattern and keyValue',
    'an _id is unique over number types': 'the error has no keyPattern and keyValue',
    'a compound unique index binds the combination': 'the error has no keyPattern and keyValue',
    'a unique index over an array binds each element': 'it binds the array as a whole',
    'a unique index is not made over duplicates': 'the code is 1 instead of 11000',
    'two arrays in one index are refused': 'they are accepted',
    '$addToSet in $group keeps each value once': 'a missing field is added as null',
    '$count of nothing gives nothing': 'it gives a document with 0',
  },
};
