export { runningStoreUrl, STORE_COPY } from './server/store-copy.ts';
export { type EmbeddedMongo, type EmbeddedMongoOptions, startEmbeddedMongo } from './start-embedded-mongo.ts';
