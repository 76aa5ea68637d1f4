import { parser } from '@prometheus-io/lezer-promql';

/** A metric in a query, with the labels that are asked of it: by matchers, and by the groups around it. */
export interface AskedMetric {
  readonly name: string;
  readonly labels: readonly string[];
}

/** Reads a query of Prometheus. @throws Error: it is none */
export function metricsIn(query: string): readonly AskedMetric[] {
  const found: AskedMetric[] = [];
  /** Labels of the aggregations around, outermost first. */
  const groups: string[][] = [];
  const open: { name: string; labels: string[] }[] = [];
  parser.parse(query).iterate({
    enter({ type, from, to, node }) {
      const text = query.slice(from, to);
      if (type.isError) throw new Error(`not a query at ${from}: ${query}`);
      if (type.name === 'AggregateExpr') {
        const modifier = node.getChild('AggregateModifier')?.getChild('GroupingLabels');
        groups.push((modifier?.getChildren('LabelName') ?? []).map((label) => query.slice(label.from, label.to)));
      }
      if (type.name === 'VectorSelector') open.push({ name: '', labels: groups.flat() });
      const selector = open.at(-1);
      if (!selector) return;
      if (type.name === 'Identifier') selector.name = text;
      if (type.name === 'LabelName') selector.labels.push(text);
    },
    leave({ type }) {
      if (type.name === 'AggregateExpr') groups.pop();
      const selector = type.name === 'VectorSelector' ? open.pop() : undefined;
      if (selector) found.push(selector);
    },
  });
  return found;
}
