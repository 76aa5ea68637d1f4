import { Int32, serialize } from 'bson';
import { encodeDocument } from '../bson/decode.ts';
import { type Doc, isDoc, typeName, type Value } from '../bson/value.ts';
import { compileFilter } from '../query/filter.ts';
import type { Collection } from '../storage/collection.ts';
import { indexSpec, parseIndexDefinition, sameKey } from '../storage/index-definition.ts';
import { checkDatabaseName } from '../storage/names.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext, Handler } from './handler.ts';
import type { Reply } from './reply.ts';
import { collectionName, commandFields, Fields, type Request } from './request.ts';

const ID_INDEX: Doc = { v: new Int32(2), key: { _id: new Int32(1) }, name: '_id_' };

export const SCHEMA_COMMANDS: Readonly<Record<string, Handler>> = {
  create: { kind: 'write', run: create },
  drop: { kind: 'write', run: drop },
  dropDatabase: { kind: 'write', run: dropDatabase },
  listCollections: { kind: 'read', run: listCollections },
  createIndexes: { kind: 'write', run: createIndexes },
  dropIndexes: { kind: 'write', run: dropIndexes },
  listIndexes: { kind: 'read', run: listIndexes },
};

function create(request: Request, { catalog }: CommandContext): Reply {
  commandFields(request, []);
  const name = collectionName(request);
  if (catalog.find(request.database, name))
    throw new CommandError('NamespaceExists', `Collection ${request.database}.${name} already exists.`);
  catalog.open(request.database, name);
  return { fields: {} };
}

function drop(request: Request, { catalog }: CommandContext): Reply {
  commandFields(request, []);
  const collection = catalog.find(request.database, collectionName(request));
  if (!collection) return { fields: {} };
  catalog.drop(collection);
  return { fields: { nIndexesWas: collection.indexes.length + 1, ns: collection.namespace } };
}

function dropDatabase(request: Request, { catalog }: CommandContext): Reply {
  commandFields(request, []);
  const collections = catalog.list(request.database);
  for (const collection of collections) catalog.drop(collection);
  return { fields: collections.length > 0 ? { dropped: request.database } : {} };
}

function listCollections(request: Request, { catalog, cursors }: CommandContext): Reply {
  const fields = commandFields(request, ['filter', 'nameOnly', 'authorizedCollections', 'cursor']);
  checkDatabaseName(request.database);
  const filter = compileFilter(fields.doc('filter') ?? {});
  const isNameOnly = fields.flag('nameOnly');
  const documents = catalog
    .list(request.database)
    .map((collection): Doc => ({ name: collection.name, type: 'collection', options: {}, info: { readOnly: false }, idIndex: ID_INDEX }))
    .filter((doc) => filter.matches(doc))
    .map((doc) => encodeDocument(isNameOnly ? { name: doc['name'] ?? null, type: doc['type'] ?? null } : doc));
  const batch = cursors.open(`${request.database}.$cmd.listCollections`, documents.values(), request.timeLimit, batchSizeOf(fields), false);
  return { batch };
}

function createIndexes(request: Request, { catalog }: CommandContext): Reply {
  const fields = commandFields(request, ['indexes', 'commitQuorum']);
  const name = collectionName(request);
  const specs = fields.docs('indexes');
  if (specs.length === 0) throw new CommandError('BadValue', 'Must specify at least one index to create');
  const definitions = specs.map(parseIndexDefinition);
  const existing = catalog.find(request.database, name);
  const collection = existing ?? catalog.open(request.database, name);
  const before = collection.indexes.length + 1;
  for (const definition of definitions) catalog.createIndex(collection, definition);
  const after = collection.indexes.length + 1;
  return {
    fields: {
      numIndexesBefore: before,
      numIndexesAfter: after,
      createdCollectionAutomatically: !existing,
      ...(before === after && { note: 'all indexes already exist' }),
    },
  };
}

function dropIndexes(request: Request, { catalog }: CommandContext): Reply {
  const fields = commandFields(request, ['index']);
  const collection = requireCollection(request, catalog);
  const before = collection.indexes.length + 1;
  const wanted = fields.value('index');
  for (const index of wanted === '*' ? [...collection.indexes] : selectIndexes(collection, wanted)) catalog.dropIndex(collection, index);
  return { fields: { nIndexesWas: before } };
}

function selectIndexes(collection: Collection, wanted: Value | undefined): Collection['indexes'] {
  if (Array.isArray(wanted)) return wanted.flatMap((name) => selectIndexes(collection, typeof name === 'string' ? name : undefined));
  if (typeof wanted !== 'string' && !isDoc(wanted)) {
    throw new CommandError('TypeMismatch', `the index to drop must be a name, names or a key, not ${typeName(wanted)}`);
  }
  const isId = typeof wanted === 'string' ? wanted === '_id_' : Object.keys(wanted).join() === '_id';
  if (isId) throw new CommandError('InvalidOptions', 'cannot drop _id index');
  const found = collection.indexes.filter(({ definition }) =>
    typeof wanted === 'string' ? definition.name === wanted : sameKey(definition.pattern, wanted),
  );
  if (found.length === 0)
    throw new CommandError(
      'IndexNotFound',
      typeof wanted === 'string' ? `index not found with name [${wanted}]` : "can't find index with key",
    );
  return found;
}

function listIndexes(request: Request, { catalog, cursors }: CommandContext): Reply {
  const fields = commandFields(request, ['cursor']);
  const collection = requireCollection(request, catalog);
  const documents = [
    encodeDocument(ID_INDEX),
    ...collection.indexes.map(({ definition }) => Buffer.from(serialize(indexSpec(definition)))),
  ];
  return { batch: cursors.open(collection.namespace, documents.values(), request.timeLimit, batchSizeOf(fields), false) };
}

function requireCollection(request: Request, catalog: CommandContext['catalog']): Collection {
  const name = collectionName(request);
  const collection = catalog.find(request.database, name);
  if (!collection) throw new CommandError('NamespaceNotFound', `ns does not exist: ${request.database}.${name}`);
  return collection;
}

function batchSizeOf(fields: Fields): number | undefined {
  const options = fields.doc('cursor');
  return options && new Fields('cursor', options, ['batchSize']).count('batchSize');
}
