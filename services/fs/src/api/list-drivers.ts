import { compareNames } from '@wharf/paths';
import type { DeepPartial, ListDriversResponse } from '@wharf/proto/fs';
import type { DriverRegistry } from '../driver-contract/driver-registry.ts';
import { driverTemplate } from '../driver-contract/driver-template.ts';

/** admin/driver/list: the kinds of storage that can be configured, by name. */
export const listDriversHandler = (registry: DriverRegistry) => async (): Promise<DeepPartial<ListDriversResponse>> => ({
  drivers: registry.offered
    .toSorted((left, right) => compareNames(left.name, right.name))
    .map((driver) => {
      const { common, additional, config } = driverTemplate(driver);
      return {
        common: [...common],
        additional: [...additional],
        config,
        secret_items: [...driver.secretKeys],
        host_folder_items: driver.hostFolders.map(({ name }) => name),
        options_by: [...driver.optionsBy],
        options_in: [...driver.optionsIn],
      };
    }),
});
