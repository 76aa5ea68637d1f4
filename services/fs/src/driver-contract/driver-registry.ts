import type { DriverDefinition } from './define-driver.ts';

export interface DriverRegistry {
  /** By the name that storages are saved under, internal ones too. */
  findDriver(name: string): DriverDefinition | undefined;
  /** The kinds an admin may choose from, in the order given. */
  readonly offered: readonly DriverDefinition[];
}

/** @throws Error when two drivers have one name */
export function createDriverRegistry(drivers: readonly DriverDefinition[]): DriverRegistry {
  const byName = new Map<string, DriverDefinition>();
  for (const driver of drivers) {
    if (byName.has(driver.name)) throw new Error(`two drivers are called ${driver.name}`);
    byName.set(driver.name, driver);
  }
  return { findDriver: (name) => byName.get(name), offered: drivers.filter((driver) => !driver.internal) };
}
