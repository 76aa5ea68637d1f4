export { type EmbeddedNats, type EmbeddedNatsOptions, startEmbeddedNats } from './embedded-nats.ts';
