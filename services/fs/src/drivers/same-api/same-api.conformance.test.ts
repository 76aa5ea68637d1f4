import { login, startStandalone, at as valueAt } from '@wharf/harness';
import { afterAll } from 'vitest';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { openListDriver } from './index.ts';
import { storagesOn } from './testing/gateway-suite.ts';

const wharf = await startStandalone();
afterAll(() => wharf.stop());
const admin = await login(wharf.base, 'admin', wharf.adminPassword);
await showThumbnails();
const on = storagesOn({ wharf, url: wharf.base, token: admin.token, definition: openListDriver });

/** Has its storage make pictures. */
async function showThumbnails(): Promise<void> {
  const storages = (await admin.get('/api/admin/storage/list')).data;
  const local = valueAt(storages, 'content', 0);
  const addition = JSON.parse(String(valueAt(local, 'addition')));
  await admin.call('/api/admin/storage/update', { ...Object(local), addition: JSON.stringify({ ...addition, thumbnail: true }) });
}

const LACKS = ['beginRemoval', 'findOnHost', 'listAll', 'listNames', 'openDraft', 'readMany', 'space', 'statMany', 'writeMany'] as const;

describeDriver({
  name: 'OpenList, over another Wharf',
  documented: { driver: 'OpenList', server: 'another Wharf' },
  lacks: LACKS,
  isRemote: true,
  isWeb: true,
  hasNoTrustItem: true,
  hasLogin: true,
  ...on((driver) => driver),
});
describeDriver({
  name: 'OpenList, over another Wharf, with everything around it',
  lacks: LACKS,
  isRemote: true,
  isWeb: true,
  hasNoTrustItem: true,
  hasLogin: true,
  ...on((driver) => decorate(driver, openListDriver.limits)),
});
