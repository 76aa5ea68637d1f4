import path from 'node:path';
import { isAvailable, isMissing, startFtpServer } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../driver-contract/conformance/folder-side.ts';
import { describeRclone, describeType, documentedAs, faulty, madeFolder, opened, SOME, WITHOUT } from './testing/type-suite.ts';

await describeRclone(async () => {
  const ftp = await startFtpServer({ software: 'vsftpd' });
  describe.runIf(isAvailable('vsftpd', ftp))('on vsftpd', () => {
    if (isMissing(ftp)) return;
    afterAll(() => ftp.stop());
    const standing = standingFolder(ftp.folder);
    describeType({
      name: 'ftp',
      documented: documentedAs('ftp, vsftpd'),
      lacks: [...WITHOUT, 'copy', 'space'],
      ...SOME,
      isRemote: true,
      hasServer: true,
      open: async () => openIn(await madeFolder(ftp.folder, ftp.uid)),
      openStanding: async () => ({ ...(await openIn(await standing())), isStanding: true }),
    });
    const openIn = async (folder: string) => {
      const openAt = ({ host, port }: { host: string; port: number }) =>
        opened('ftp', { host, port: String(port), user: ftp.username }, { pass: ftp.password }, path.basename(folder));
      return { driver: await openAt(ftp), ...folderSide(folder), throughFaults: () => faulty(ftp, openAt) };
    };
  });
});
