import type { DeepPartial, ListDriverOptionsRequest, ListDriverOptionsResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { DriverRegistry } from '../driver-contract/driver-registry.ts';
import { checkedAddition, contextOf, driverOf, type StorageTests } from './test-storage.ts';

/** admin/driver/options: what can be chosen in a form as it is so far. Nothing is opened and nothing saved. */
export const listDriverOptionsHandler =
  (registry: DriverRegistry, tests: StorageTests) =>
  async (request: ListDriverOptionsRequest, call: Call): Promise<DeepPartial<ListDriverOptionsResponse>> => {
    const definition = driverOf(registry, request.driver);
    const context = { ...contextOf(tests, definition), signal: call.signal };
    const options = await definition.readOptions(checkedAddition(request.addition), context);
    return {
      options: options.map(({ choices, isExclusive, isRequired, isSecret, isAdvanced, isShaping, ...rest }) => ({
        ...rest,
        choices: [...choices],
        exclusive: isExclusive,
        required: isRequired,
        secret: isSecret,
        advanced: isAdvanced,
        shapes: isShaping,
      })),
    };
  };
