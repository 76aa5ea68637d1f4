import { runProcess } from '@wharf/service-kit';
import { readStandaloneConfig } from './config.ts';
import { runStandalone } from './standalone.ts';

await runProcess('wharf', readStandaloneConfig, runStandalone);
