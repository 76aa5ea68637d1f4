import { startDocumentDb } from '@wharf/harness';
import { ALL_RULES } from './contract/all-rules.ts';
import { describeStore } from './contract/store-contract.ts';

const url = process.env['WHARF_TEST_MONGODB_URL'] ?? '';
describeStore('engine', async () => ({ url, stop: async () => undefined }), ALL_RULES);
void startDocumentDb;
