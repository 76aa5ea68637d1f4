import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { memoryDriver } from './index.ts';

describeDriver({ name: 'Memory', open: async () => ({ driver: await memoryDriver.open('') }) });
