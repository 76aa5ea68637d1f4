import { expect, it } from 'vitest';
import { STORAGE_TEMPLATES } from './storage-templates.ts';

it('begins an S3 storage with the address of a vendor', () => {
  const { S3 = [] } = STORAGE_TEMPLATES;
  expect(new Set(S3.map(({ name }) => name)).size).toBeGreaterThanOrEqual(20);
  for (const { name, values } of S3) {
    const address = new URL(String(values['endpoint']));
    expect(address.protocol, name).toBe('https:');
    expect(address.pathname, name).toBe('/');
    expect(values['endpoint'], name).not.toContain('REGION');
  }
});
