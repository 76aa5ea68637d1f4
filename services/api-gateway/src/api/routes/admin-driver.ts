import { AppError } from '@wharf/errors';
import type { DriverTemplate } from '@wharf/proto/fs';
import { z } from 'zod';
import { text } from '../fields.ts';
import { type CallerContext, nothing, type Route, route } from '../route.ts';
import { driverShape } from '../shapes.ts';

type Driver = z.output<typeof driverShape>;

/** The templates by name, sorted. */
async function listDrivers({ peers, options }: CallerContext): Promise<Map<string, Driver>> {
  const { drivers } = await peers.fs.listDrivers({}, options);
  const named = drivers.flatMap(({ common, additional, config }: DriverTemplate) => (config ? [{ common, additional, config }] : []));
  named.sort((left, right) => (left.config.name < right.config.name ? -1 : 1));
  return new Map(named.map((driver) => [driver.config.name, driver]));
}

export const adminDriverRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/admin/driver/list',
    access: 'admin',
    summary: 'The templates of all drivers by name.',
    takes: 'query',
    input: nothing,
    answer: z.record(z.string(), driverShape),
    call: async (context) => Object.fromEntries(await listDrivers(context)),
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/driver/names',
    access: 'admin',
    summary: 'The names of all drivers, sorted.',
    takes: 'query',
    input: nothing,
    answer: z.array(z.string()),
    call: async (context) => [...(await listDrivers(context)).keys()],
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/driver/info',
    access: 'admin',
    summary: 'The template of one driver.',
    takes: 'query',
    input: z.object({ driver: text() }),
    codes: { RECORD_NOT_FOUND: 404 },
    answer: driverShape,
    call: async (context, { driver }) => {
      const found = (await listDrivers(context)).get(driver);
      if (!found) throw new AppError('RECORD_NOT_FOUND', `driver [${driver}] not found`);
      return found;
    },
  }),
];
