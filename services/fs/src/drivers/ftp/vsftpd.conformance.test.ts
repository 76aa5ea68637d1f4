import { ftpSuiteOn } from './testing/suite-on.ts';

await ftpSuiteOn('vsftpd', [{ isDecorated: false }, { tls: 'explicit', isDecorated: true }]);
