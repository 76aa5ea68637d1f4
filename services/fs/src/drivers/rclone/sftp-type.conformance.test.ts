import path from 'node:path';
import { isAvailable, isMissing, startSshServer } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../driver-contract/conformance/folder-side.ts';
import { describeRclone, describeType, documentedAs, faulty, madeFolder, opened, SOME, WITHOUT } from './testing/type-suite.ts';

await describeRclone(async () => {
  const ssh = await startSshServer();
  describe.runIf(isAvailable('sshd', ssh))('on sshd', () => {
    if (isMissing(ssh)) return;
    afterAll(() => ssh.stop());
    const standing = standingFolder(ssh.folder);
    describeType({
      name: 'sftp',
      documented: documentedAs('sftp, OpenSSH'),
      lacks: [...WITHOUT, 'copy'],
      ...SOME,
      isRemote: true,
      hasServer: true,
      open: async () => openIn(await madeFolder(ssh.folder, ssh.uid)),
      openStanding: async () => ({ ...(await openIn(await standing())), isStanding: true }),
    });
    const openIn = async (folder: string) => {
      // Of rclone a path begins where a session begins.
      const root = path.basename(folder);
      const openAt = ({ host, port }: { host: string; port: number }) =>
        opened('sftp', { host, port: String(port), user: ssh.username }, { pass: ssh.password }, root);
      return { driver: await openAt(ssh), ...folderSide(folder), throughFaults: () => faulty(ssh, openAt) };
    };
  });
});
