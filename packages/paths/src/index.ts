export { readCachePolicies } from './cache-policies.ts';
export { maxPaths, pathWeight } from './path-weight.ts';
export {
  baseName,
  childPath,
  compareNames,
  type EntryName,
  hasRoomFor,
  isEntryName,
  isWithin,
  joinPath,
  MOUNT_ROOT,
  type MountPath,
  nameAt,
  parentPath,
  parseEntryName,
  parseVirtualPath,
  pathSegments,
  ROOT_NAME,
  relativeTo,
  sortNames,
  VIRTUAL_ROOT,
  type VirtualPath,
} from './paths.ts';
