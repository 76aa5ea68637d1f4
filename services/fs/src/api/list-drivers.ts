import { compareNames } from '@wharf/paths';
import type { DeepPartial, ListDriversResponse } from '@wharf/proto/fs';
import type { DriverRegistry } from '../driver-contract/driver-registry.ts';
import { driverTemplate } from '../driver-contract/driver-template.ts';

/** admin/driver/list: the kinds of storage that can be configured, by name. */
export const listDriversHandler = (registry: DriverRegistry) => async (): Promise<DeepPartial<ListDriversResponse>> => ({
  drivers: registry.offered
    .map(driverTemplate)
    .sort((left, right) => compareNames(left.config.name, right.config.name))
    .map(({ common, additional, config }) => ({ common: [...common], additional: [...additional], config })),
});
