import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type LabelOf, METRICS, type MetricName, type NameOf } from './metric-catalogue.ts';

/** A counter of the catalogue. */
export function counter<const Name extends NameOf<'counter'>>(registry: Registry, name: Name): Counter<LabelOf<Name>> {
  return new Counter(settingsOf(registry, name));
}

/** A gauge of the catalogue. @param collect sets its values when somebody asks for them */
export function gauge<const Name extends NameOf<'gauge'>>(
  registry: Registry,
  name: Name,
  collect?: (gauge: Gauge<LabelOf<Name>>) => void | Promise<void>,
): Gauge<LabelOf<Name>> {
  const made: Gauge<LabelOf<Name>> = new Gauge({
    ...settingsOf(registry, name),
    ...(collect && { collect: () => collect(made) }),
  });
  return made;
}

/** A histogram of the catalogue. */
export function histogram<const Name extends NameOf<'histogram'>>(registry: Registry, name: Name): Histogram<LabelOf<Name>> {
  return new Histogram({ ...settingsOf(registry, name), buckets: [...METRICS[name].buckets] });
}

function settingsOf<Name extends MetricName>(registry: Registry, name: Name) {
  const { help, labels } = METRICS[name];
  return { name, help, labelNames: [...labels] as LabelOf<Name>[], registers: [registry] };
}

/** What prom-client tells of a process itself, by name. */
export function processMetrics(): readonly { readonly name: string; readonly help: string }[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry.getMetricsAsArray().map(({ name, help }) => ({ name, help }));
}
