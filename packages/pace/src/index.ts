export { createGate, type Gate } from './gate.ts';
export { brokenBound, type JsonBounds } from './json-bounds.ts';
export { listOf } from './list-of.ts';
export { createPace, type Pace } from './pace.ts';
export { parseJson } from './parse-json.ts';
export { boundsOf, type Slice, sliceOf, WHOLE } from './slice.ts';
export { createTurns } from './turns.ts';
