import { ftpSuiteOn } from './testing/suite-on.ts';

await ftpSuiteOn('proftpd', [{ tls: 'implicit', isDecorated: false }, { isDecorated: true }], {
  'odd names work for folders, and as targets of a rename': 'proftpd makes no folder with * in its name',
});
