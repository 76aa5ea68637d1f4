import sax from 'sax';
import { badAnswer } from './errors.ts';

/** An element of an answer, without its attributes: the protocol says nothing in them. */
export interface XmlElement {
  readonly name: string;
  /** All of its text; of one with children the blanks between them. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** More than the protocol nests. */
const MAX_DEPTH = 8;

/**
 * Reads one document. Document types are refused, and with them entities of their own.
 *
 * @param maxBytes of the document; what is longer is refused when it is seen to be
 * @throws AppError STORAGE_UNAVAILABLE for what is no such document
 */
export async function parseXml(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<XmlElement> {
  const reader = createReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw badAnswer(`more than ${maxBytes} bytes of XML`);
    reader.take(() => decoder.decode(piece, { stream: true }));
  }
  reader.take(() => decoder.decode());
  return reader.end();
}

/** A page of a thousand objects has about ten for each. */
const MAX_ELEMENTS = 30_000;

interface Open {
  readonly name: string;
  text: string;
  readonly children: Open[];
}

function createReader(): { take(text: () => string): void; end(): XmlElement } {
  const parser = sax.parser(true);
  const document: Open = { name: '', text: '', children: [] };
  const open = [document];
  let elements = 0;
  parser.onopentag = ({ name }) => {
    if (open.length > MAX_DEPTH) throw badAnswer('XML that is nested too deep');
    elements += 1;
    if (elements > MAX_ELEMENTS) throw badAnswer('XML of too many elements');
    const element: Open = { name: name.replace(/^.*:/s, ''), text: '', children: [] };
    open.at(-1)?.children.push(element);
    open.push(element);
  };
  parser.onclosetag = () => void open.pop();
  const onText = (text: string) => {
    const element = open.at(-1);
    if (element) element.text += text;
  };
  parser.ontext = onText;
  parser.oncdata = onText;
  parser.ondoctype = () => {
    throw badAnswer('XML with a document type');
  };
  parser.onerror = (cause) => {
    throw badAnswer('broken XML', cause);
  };
  const guarded = (run: () => void) => {
    try {
      run();
    } catch (error) {
      throw error instanceof TypeError ? badAnswer('text that is no UTF-8', error) : error;
    }
  };
  return {
    take: (text) => guarded(() => void parser.write(text())),
    end() {
      guarded(() => void parser.close());
      const [root] = document.children;
      if (!root) throw badAnswer('no XML');
      return root;
    },
  };
}

export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The text of a child; undefined where there is none. */
export function textOf(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

/** Text as it stands in a document. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"'\r\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);
}
