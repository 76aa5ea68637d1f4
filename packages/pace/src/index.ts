export { createPace, type Pace } from './pace.ts';
