export { type ExitStatus, type ProcessOptions, type RunningProcess, runCommand, startProcess } from './process.ts';
export { makeTempDir, type TempDir } from './temp-dir.ts';
export { type WaitOptions, waitFor } from './wait-for.ts';
