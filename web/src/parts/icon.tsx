import type { IconNode } from 'lucide';
import type { JSX } from 'solid-js';

const SVG = 'http://www.w3.org/2000/svg';
const FRAME = {
  viewBox: '0 0 24 24',
  fill: 'none',
  stroke: 'currentColor',
  'stroke-width': '1.75',
  'stroke-linecap': 'round',
  'stroke-linejoin': 'round',
  'aria-hidden': 'true',
};
/** Lists show the same few over and over. */
const drawn = new WeakMap<IconNode, SVGElement>();

function draw(icon: IconNode): SVGElement {
  const make = (tag: string, attributes: Readonly<Record<string, unknown>>) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
    return element;
  };
  const svg = make('svg', FRAME) as SVGElement;
  for (const [tag, attributes] of icon) svg.append(make(tag, attributes));
  return svg;
}

/** One of the open set; an ornament: what it stands for is said beside it. */
export function Icon(props: { of: IconNode; size?: number }): JSX.Element {
  const copy = () => {
    const known = drawn.get(props.of) ?? draw(props.of);
    drawn.set(props.of, known);
    const svg = known.cloneNode(true) as SVGElement;
    const size = String(props.size ?? 18);
    svg.setAttribute('width', size);
    svg.setAttribute('height', size);
    return svg;
  };
  return <>{copy()}</>;
}
