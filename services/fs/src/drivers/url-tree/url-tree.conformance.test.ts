import { createEgress, createEgressPolicy } from '@wharf/egress';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { urlTreeDriver } from './index.ts';

const egress = createEgress(createEgressPolicy({ audience: 'user', allow: [], forbidden: [] }));
const lacks = [
  'beginRemoval',
  'copy',
  'findOnHost',
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
const open = () => urlTreeDriver.open(JSON.stringify({ url_structure: '\n' }), { egress });

describeDriver({
  name: 'UrlTree',
  documented: { driver: 'UrlTree', server: 'the web' },
  lacks,
  open: async () => ({ driver: await open() }),
});
describeDriver({
  name: 'UrlTree with everything around it',
  lacks,
  open: async () => ({ driver: decorate(await open(), urlTreeDriver.limits) }),
});
