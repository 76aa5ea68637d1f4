import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Where each layer of tests lives (README, "Tests"). A project runs alone with `vitest run --project <name>`. */
export default defineConfig({
  test: {
    // By default two cores get one worker, and would be idle for a part of the time; containers leave them half idle.
    maxWorkers: process.env['WHARF_TEST_CONTAINERS'] === undefined ? availableParallelism() + 2 : 2,
    projects: [
      {
        test: {
          name: 'unit',
          // These share nothing that changes, so the modules of a worker are loaded once: 20 s of CPU time for all of them instead of 51.
          isolate: false,
          // Some try every character or thousands of cases, beside other work.
          testTimeout: 60_000,
          // Of a second, if it is not said: too little on a busy machine.
          expect: { poll: { timeout: 15_000 } },
          include: ['{packages,services,tools,proto}/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/test/**', '**/*.conformance.test.ts'],
        },
      },
      {
        test: {
          // These put doubles in the place of modules of the page, which another file of the same worker would get.
          name: 'web',
          testTimeout: 60_000,
          expect: { poll: { timeout: 15_000 } },
          include: ['web/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
        },
      },
      {
        test: {
          name: 'integration',
          // As those of `unit`: a second of CPU time less for each of some two hundred files. Each has a folder and servers of its own.
          isolate: false,
          include: [
            '{packages,services}/*/test/**/*.test.ts',
            'services/*/src/**/*.conformance.test.ts',
            'test/{harness,deploy}/**/*.test.ts',
          ],
          exclude: ['**/node_modules/**'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      // `npm run test:containers` builds what these need.
      ...(process.env['WHARF_TEST_CONTAINERS'] === undefined
        ? []
        : [
            {
              test: {
                name: 'containers',
                include: [
                  `test/contract/${process.env['WHARF_TEST_WORK'] === undefined ? 'test/' : `works/${process.env['WHARF_TEST_WORK']}*`}*.containers.test.ts`,
                ],
                exclude: ['**/node_modules/**'],
                testTimeout: 120_000,
                hookTimeout: 400_000,
                // What runs for hours runs alone.
                fileParallelism: process.env['WHARF_TEST_WORK'] === undefined,
              },
            },
          ]),
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // Of a second, if it is not said: a page takes longer beside other work.
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
  },
});
