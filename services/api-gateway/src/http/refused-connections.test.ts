import { expect, it } from 'vitest';
import { createRefusedConnections } from './refused-connections.ts';

it('a flood of refused connections is one line a minute, with how many were not told', () => {
  let nowMs = 0;
  const lines: unknown[] = [];
  const tell = createRefusedConnections({ warn: (fields: unknown) => void lines.push(fields) }, () => nowMs);
  for (let each = 0; each < 1_000; each++) tell('192.0.2.1');
  nowMs = 60_000;
  tell('192.0.2.2');
  expect(lines).toEqual([
    { address: '192.0.2.1', unsaid: 0 },
    { address: '192.0.2.2', unsaid: 999 },
  ]);
});
