export { brokenBound, type JsonBounds } from './json-bounds.ts';
export { createPace, type Pace } from './pace.ts';
export { createTurns } from './turns.ts';
