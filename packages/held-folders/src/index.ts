export { HAS_HANDLE_PATHS, handlePath, O_PATH } from './handle-path.ts';
export { type HeldFolder, holdFolder, isMissing, isNoFolder } from './held-folder.ts';
