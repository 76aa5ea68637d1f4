import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { at, httpRequest, login, startStandalone, type Wharf } from '@wharf/harness';
import { METRICS, type MetricDeclaration } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { metricsIn } from './queries.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const rules = z
  .object({ groups: z.array(z.object({ rules: z.array(z.looseObject({ alert: z.string(), expr: z.string() })) })) })
  .parse(parse(read('deploy/observability/alerts.yaml')))
  .groups.flatMap((group) => group.rules);
const panels = z
  .object({ panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })) })
  .parse(JSON.parse(read('deploy/observability/dashboard.json'))).panels;
const queries = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
];
const declared = new Map(Object.entries<MetricDeclaration>(METRICS));

/** What Prometheus itself adds. */
const ADDED_LABELS = ['job', 'instance'];
const ADDED_METRICS = ['up'];

/** A metric without what is added to the names of a histogram's series. */
const baseOf = (name: string) => {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  return declared.get(base)?.type === 'histogram' ? base : name;
};

describe('dashboards and alerts, beside a running Wharf', () => {
  let wharf: Wharf;
  let scrape = '';
  beforeAll(async () => {
    wharf = await startStandalone();
    const admin = await login(wharf.base, 'admin', wharf.adminPassword);
    await admin.call('/api/fs/list', { path: '/local' });
    await admin.post('/api/fs/get', { path: '/local/not-there' });
    const line = wharf
      .log()
      .split('\n')
      .find((text) => text.includes('"opsUrl"'));
    scrape = (await httpRequest(String(at(JSON.parse(line ?? '{}'), 'opsUrl')), { path: '/metrics' })).text();
  });
  afterAll(() => wharf?.stop());

  const scraped = () => new Set([...scrape.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name));

  it('each metric of ours is declared, and each declared one is told', () => {
    const own = [...scraped()].filter((name) => !/^(process|nodejs)_/.test(name));
    expect(own.sort()).toEqual([...declared.keys()].sort());
  });

  it('each series has the labels that are declared, and no others', () => {
    let compared = 0;
    for (const [, name = '', labels = ''] of scrape.matchAll(/^([a-z_]+)\{([^}]*)\} /gm)) {
      const declaration = declared.get(baseOf(name));
      if (!declaration) continue;
      const names = [...labels.matchAll(/([a-z_]+)="/g)].map(([, label]) => label).filter((label) => label !== 'le');
      expect(names.sort(), name).toEqual([...declaration.labels].sort());
      compared += 1;
    }
    expect(compared).toBeGreaterThan(20);
  });

  it.each(queries)('%s asks for what there is: %s', (_title, query) => {
    const asked = metricsIn(query);
    expect(asked.length).toBeGreaterThan(0);
    for (const { name, labels } of asked) {
      const base = baseOf(name);
      if (ADDED_METRICS.includes(name)) continue;
      expect(scraped(), name).toContain(base);
      const known = [...(declared.get(base)?.labels ?? []), ...ADDED_LABELS, ...(name.endsWith('_bucket') ? ['le'] : [])];
      for (const label of labels) expect(known, `${name}{${label}}`).toContain(label);
      if (declared.get(base)?.type === 'histogram') expect(name).not.toBe(base);
    }
  });
});

it('a query is read with its labels, and what is none is refused', () => {
  const query = 'sum by (route) (rate(a_total{code=~"5.."}[5m])) / max without (x) (b)';
  expect(metricsIn(query)).toEqual([
    { name: 'a_total', labels: ['route', 'code'] },
    { name: 'b', labels: ['x'] },
  ]);
  expect(() => metricsIn('sum by (route')).toThrow();
});

it('each alert has a chapter that says what to do, and each chapter an alert', () => {
  const chapters = [...read('docs/alerts.md').matchAll(/^## (\w+)$/gm)].map(([, title]) => title);
  expect(chapters).toEqual(rules.map(({ alert }) => alert));
});
