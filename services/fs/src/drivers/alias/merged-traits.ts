import type { DriverTraits, HashName, RefusedNames } from '../../driver-contract/storage-driver.ts';

/** What holds for each of several storages, so that an entry can be in any of them. @param several whether a name may come to more than one */
export function mergedTraits(all: readonly DriverTraits[], several: boolean): DriverTraits {
  const steps = all.map(({ modTimeStepMs }) => modTimeStepMs);
  const hashes = (['md5', 'sha1', 'sha256'] as const).filter((name: HashName) => all.every((traits) => traits.hashes.includes(name)));
  const paths = all.flatMap(({ maxPathBytes }) => (maxPathBytes === undefined ? [] : [maxPathBytes]));
  const refused = all.flatMap(({ refusedNames }) => (refusedNames === undefined ? [] : [refusedNames]));
  return {
    caseSensitive: all.every(({ caseSensitive }) => caseSensitive),
    keepsEmptyDirectories: all.every(({ keepsEmptyDirectories }) => keepsEmptyDirectories),
    modTimeStepMs: steps.includes(undefined) ? undefined : Math.max(1, ...steps.map((step) => step ?? 1)),
    maxNameBytes: Math.min(255, ...all.map(({ maxNameBytes }) => maxNameBytes)),
    hashes,
    exclusiveCreate: !several && all.every(({ exclusiveCreate }) => exclusiveCreate),
    copiesFolders: all.every(({ copiesFolders }) => copiesFolders),
    ...((several || all.some(({ hasMirrors }) => hasMirrors)) && { hasMirrors: true }),
    ...(all.some(({ locksOpenFiles }) => locksOpenFiles) && { locksOpenFiles: true }),
    ...(all.some(({ removesStepwise }) => removesStepwise) && { removesStepwise: true }),
    ...(refused.length > 0 && { refusedNames: together(refused) }),
    ...(paths.length > 0 && { maxPathBytes: Math.min(...paths) }),
  };
}

function together(all: readonly RefusedNames[]): RefusedNames {
  return {
    characters: all.map(({ characters }) => characters).join(''),
    endings: all.map(({ endings }) => endings).join(''),
    stems: all.flatMap(({ stems }) => stems),
  };
}
