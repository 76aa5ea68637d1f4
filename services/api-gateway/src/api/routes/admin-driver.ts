import { AppError } from '@wharf/errors';
import type { DriverTemplate } from '@wharf/proto/fs';
import { z } from 'zod';
import { jsonText, text } from '../fields.ts';
import { type CallerContext, nothing, type Route, route } from '../route.ts';
import { driverOptionShape, driverShape } from '../shapes.ts';

type Driver = z.output<typeof driverShape>;

/** The templates by name, sorted. */
async function listDrivers({ peers, options }: CallerContext): Promise<Map<string, Driver>> {
  const { drivers } = await peers.fs.listDrivers({}, options);
  const named = drivers.flatMap(({ common, additional, config, options_by, options_in }: DriverTemplate) =>
    config ? [{ common, additional, config, options_by, options_in }] : [],
  );
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
  route({
    methods: ['POST'],
    path: '/api/admin/driver/options',
    access: 'admin',
    summary:
      'What can be chosen in some items of a driver (options_by in its template), with what the addition has so far: of Rclone the types, and the options of the chosen one as rclone describes them. Nothing is saved.',
    takes: 'body',
    input: z.object({ driver: text(), addition: jsonText().default('') }),
    codes: { RECORD_NOT_FOUND: 404 },
    answer: z.array(driverOptionShape),
    call: async ({ peers, options }, input) => z.array(driverOptionShape).parse((await peers.fs.listDriverOptions(input, options)).options),
  }),
];
