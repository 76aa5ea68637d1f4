import { smbSuiteOn } from './testing/smb-suite.ts';

await smbSuiteOn(true);
