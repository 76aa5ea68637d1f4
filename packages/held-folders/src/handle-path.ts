/** Linux opens a place with it without reading or waking what is there (open(2)). Node does not name the constant. */
export const O_PATH = 0o10000000;

/** Whether the system shows what is open as a path (proc_pid_fd(5)). */
export const HAS_HANDLE_PATHS = process.platform === 'linux';

/** The path of an open folder. Work below this path is done in exactly that folder, also when its name leads elsewhere by now. */
export function handlePath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}
