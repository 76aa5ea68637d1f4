export { createPace, type Pace } from './pace.ts';
export { createTurns } from './turns.ts';
