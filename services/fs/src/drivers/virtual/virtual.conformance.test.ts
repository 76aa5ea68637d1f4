import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { virtualDriver } from './index.ts';

const lacks = [
  'beginRemoval',
  'copy',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'makeDirectory',
  'openDraft',
  'readMany',
  'remove',
  'rename',
  'space',
  'statMany',
  'thumbnail',
  'write',
  'writeMany',
] as const;
const open = () => virtualDriver.open(JSON.stringify({ num_file: 0, num_folder: 0 }));

describeDriver({
  name: 'Virtual',
  documented: { driver: 'Virtual', server: 'made up' },
  lacks,
  open: async () => ({ driver: await open() }),
});
describeDriver({
  name: 'Virtual with everything around it',
  lacks,
  open: async () => ({ driver: decorate(await open(), undefined) }),
});
