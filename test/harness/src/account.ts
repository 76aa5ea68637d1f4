import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { runToEnd } from './process.ts';

export const USERNAME = 'keeper';
/** The last that Debian's policy gives to users of a machine, so nobody else has it. */
export const UID = 59_999;

/**
 * Lines of a shell that give a confined server an `/etc` of its own, with the account files of the folder it runs in. A file that is mounted over one of
 * `/etc` would be gone as soon as somebody replaces that one, as the installation of a package does.
 */
export const OWN_ACCOUNTS = `
mkdir -p etc
cp -a /etc/. etc/ 2>/dev/null || true
cp passwd shadow etc/
mount --bind etc /etc
`;

/** Copies this machine's account files into a folder, `passwd` and `shadow`, and adds the user; answers its password. */
export async function makeAccount(at: (name: string) => string, home: string): Promise<string> {
  const password = randomBytes(12).toString('hex');
  // The fewest rounds that there are: tests log in by the thousand. Perl's base package is on every Debian, and its crypt is the one that sshd asks.
  const hash = await runToEnd('perl', [
    '-e',
    'print crypt($ARGV[0], $ARGV[1])',
    password,
    `$6$rounds=1000$${randomBytes(8).toString('hex')}$`,
  ]);
  const passwd = `${USERNAME}:x:${UID}:${UID}::${home}:/bin/sh\n`;
  await writeFile(at('passwd'), `${await readFile('/etc/passwd', 'utf8')}${passwd}`);
  await writeFile(at('shadow'), `${await readFile('/etc/shadow', 'utf8')}${USERNAME}:${hash}:19000:0:99999:7:::\n`, { mode: 0o600 });
  return password;
}
