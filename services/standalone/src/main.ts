import { runProcess } from '@wharf/service-kit';
import { readStandaloneConfig } from './config.ts';
import { startStandalone } from './standalone.ts';

await runProcess('wharf', readStandaloneConfig, startStandalone);
