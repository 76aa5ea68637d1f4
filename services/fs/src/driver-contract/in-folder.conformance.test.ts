import { memoryDriver } from '../drivers/memory/index.ts';
import { at } from './conformance/driver-calls.ts';
import { describeDriver } from './conformance.suite.ts';
import { inFolder } from './in-folder.ts';

describeDriver({
  name: 'a folder of another storage',
  lacks: ['beginRemoval', 'findOnHost', 'link', 'listAll', 'openDraft', 'space', 'thumbnail'],
  open: async () => {
    const below = await memoryDriver.open('{"profile":"several at once"}');
    await below.makeDirectory?.(at('/a/folder'));
    return { driver: inFolder(below, at('/a/folder'), () => undefined) };
  },
});
