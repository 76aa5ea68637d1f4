/**
 * Names under which disks and servers find what their folders list under another name, or do not list at all. By such a name an entry would have a second path,
 * for which no rule was made.
 */
const DOUBTFUL = [
  // `SECRET~1`, `LONGNA~1.TXT`, `S3QVGJ~3`: what NTFS, FAT and Samba call entries whose names are no 8.3.
  /^(?=.{2,12}$)[^.]{0,6}~[^.]{1,6}(?:\.[^.]{0,3})?$/,
  // `$MFT`, `$Extend`: files of NTFS itself, in which all names are, and the content of small files.
  /^\$/,
  // Snapshots, and ways to a file by its number, that ZFS, CephFS, Gluster, Isilon, NetApp, Weka, Lustre and Windows have in folders that do not list them.
  /^(?:\.zfs|\.snaps?|\.snapshots?|\.ckpt|\.lustre|~snapshot|@gmt-.*)$/i,
];
/** `plan.txt::$DATA`: streams of NTFS. */
const STREAM = ':';

/** No path without one of these has such a name. */
const HINT = /[~:]|\/[$@.]/;

/** Whether an entry of this name is there only if its folder lists it. */
export function isDoubtfulName(name: string): boolean {
  return mayBeStream(name) || isDoubtfulItself(name);
}

/** Whether it has the form of a stream's name. */
export function mayBeStream(name: string): boolean {
  return name.includes(STREAM);
}

/**
 * Of a name that is doubtful only as that of a stream, as times of day look like: the file that would have it. Where that is not there the name is an entry's own.
 */
export function ownerOfStream(name: string): string | undefined {
  const owner = name.slice(0, Math.max(0, name.indexOf(STREAM)));
  return owner === '' || isDoubtfulItself(name) || isDoubtfulItself(owner) ? undefined : owner;
}

function isDoubtfulItself(name: string): boolean {
  return DOUBTFUL.some((form) => form.test(name));
}

/** Whether there is one on this path. */
export function hasDoubtfulName(path: string): boolean {
  return HINT.test(path) && path.split('/').some(isDoubtfulName);
}
