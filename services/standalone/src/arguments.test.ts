import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { readArguments } from './arguments.ts';

const folder = tmpdir();

describe('arguments', () => {
  it('may be none', async () => {
    expect(await readArguments([])).toEqual({ mounts: [], resetAdminPassword: false, newSecret: false, backupFile: undefined });
  });

  it('mount folders, as many as are given', async () => {
    expect(await readArguments(['--mount', `/a=${folder}`, `--mount=/b/c/=${folder}`, '--reset-admin-password', '--new-secret'])).toEqual({
      mounts: [
        { mountPath: '/a', folder },
        { mountPath: '/b/c', folder },
      ],
      resetAdminPassword: true,
      newSecret: true,
      backupFile: undefined,
    });
  });

  it('name the file of a backup', async () => {
    const backupFile = `${folder}/not-there-yet.tar`;
    expect(await readArguments(['--backup', backupFile])).toMatchObject({ backupFile });
  });

  it.each([
    [['--mount', 'photos'], 'write it as <path in Wharf>=<folder>, such as /photos=/srv/photos'],
    [['--mount', `photos=${folder}`], 'the path in Wharf begins with a slash'],
    [['--mount', `/a/../b=${folder}`], 'the path in Wharf begins with a slash'],
    [['--mount', '/a=photos'], 'give the folder with its whole path'],
    [['--mount', '/a=/not/there/at/all'], 'the folder /not/there/at/all is not there; make it first'],
    [['--mount', '/a=/etc/hostname'], '/etc/hostname is no folder'],
    [['--mount', `/a=${folder}`, '--mount', `/a/=${folder}`], '/a is given twice'],
    [['--mount'], "Option '--mount <value>' argument missing"],
    [['--reset-password'], "Unknown option '--reset-password'"],
    [['--backup', 'wharf.tar'], 'give the file with its whole path, such as /srv/wharf.tar'],
    [['--backup', '/not/there/wharf.tar'], 'the folder /not/there is not there; make it first'],
    [['--backup', folder], `${folder} is no file`],
    [['--backup', `${folder}/a.tar`, '--reset-admin-password'], '--backup: give it alone'],
    [['--backup', `${folder}/a.tar`, '--mount', `/a=${folder}`], '--backup: give it alone'],
    [['photos'], "Unexpected argument 'photos'"],
  ])('%j cannot be used, and what can is said', async (words, problem) => {
    const refused = readArguments(words);
    await expect(refused).rejects.toThrow(problem);
    await expect(refused).rejects.toThrow('npm start -- --mount /photos=/srv/photos');
  });
});
