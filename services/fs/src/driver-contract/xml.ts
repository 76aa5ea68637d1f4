import { ownText } from '@wharf/pace';
import { SaxesParser } from 'saxes';
import { badAnswer } from './storage-error.ts';

/** An element of an answer, without its attributes: the protocol says nothing in them. */
export interface XmlElement {
  readonly name: string;
  /** All of its text, but no blanks behind a child. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** More than the protocols nest. */
const MAX_DEPTH = 8;
/** A page of a thousand objects has about ten for each. */
const MAX_ELEMENTS = 30_000;
/** Of one element, in characters: a key has 1,024 bytes, an upload's id some hundred. */
const MAX_TEXT = 64 * 1024;

/**
 * Reads one document. Document types are refused, and with them entities of their own.
 *
 * @param maxBytes of the document; what is longer is refused when it is seen to be
 * @throws AppError STORAGE_UNAVAILABLE for what is no such document
 */
export async function parseXml(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<XmlElement> {
  for await (const root of readRecords(pieces, 0, maxBytes)) return root;
  throw badAnswer('no XML');
}

/**
 * The children of the root of one document, each as soon as its end has come: the document may be longer than memory.
 *
 * @param rootName another document is refused, @param maxBytes of a child
 * @throws AppError STORAGE_UNAVAILABLE as above, at the child where it is seen
 */
export function readChildren(pieces: AsyncIterable<Uint8Array>, rootName: string, maxBytes: number): AsyncGenerator<XmlElement, void> {
  return readRecords(pieces, 1, maxBytes, rootName);
}

async function* readRecords(
  pieces: AsyncIterable<Uint8Array>,
  depth: number,
  maxBytes: number,
  rootName?: string,
): AsyncGenerator<XmlElement, void> {
  const reader = createReader(depth, rootName);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const root: XmlElement[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    const records = reader.take(() => decoder.decode(piece, { stream: true }));
    if (bytes > maxBytes && (depth === 0 || records.length === 0)) throw badAnswer(`more than ${maxBytes} bytes of XML`);
    if (depth === 0) root.push(...records);
    else {
      if (records.length > 0) bytes = 0;
      yield* records;
    }
  }
  // What comes behind the root must be read, too, before it is taken for whole.
  const last = reader.end(() => decoder.decode());
  yield* root;
  yield* last;
}

interface Open {
  readonly name: string;
  text: string;
  readonly children: Open[];
}

/** @param depth of the elements that are handed out */
function createReader(depth: number, rootName: string | undefined) {
  const parser = new SaxesParser();
  const open: Open[] = [];
  let records: Open[] = [];
  let hasBegun = false;
  let elements = 0;
  let attributes = 0;
  parser.on('opentag', ({ name: qualified }) => {
    const name = qualified.slice(qualified.lastIndexOf(':') + 1);
    if (open.length >= MAX_DEPTH) throw badAnswer('XML that is nested too deep');
    elements += 1;
    if (elements > MAX_ELEMENTS) throw badAnswer('XML of too many elements');
    if (rootName !== undefined && open.length === 0 && name !== rootName) throw badAnswer(`no ${rootName}`);
    const element: Open = { name, text: '', children: [] };
    if (open.length > depth) open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => {
    const element = open.pop();
    // It may be kept for longer than the piece that it came in.
    if (element !== undefined) element.text = ownText(element.text);
    if (element === undefined || open.length !== depth) return;
    records.push(element);
    if (depth === 0) return;
    elements = 0;
    attributes = 0;
  });
  parser.on('attribute', () => {
    attributes += 1;
    if (attributes > MAX_ELEMENTS) throw badAnswer('XML of too many attributes');
  });
  const onText = (text: string) => {
    const element = open.at(-1);
    if (!element || open.length <= depth || (element.children.length > 0 && text.trim() === '')) return;
    if (element.text.length + text.length > MAX_TEXT) throw badAnswer('XML with too long a text');
    element.text += text;
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('doctype', () => {
    throw badAnswer('XML with a document type');
  });
  parser.on('error', (cause) => {
    throw badAnswer('broken XML', cause);
  });
  const guarded = (run: () => void): Open[] => {
    try {
      run();
    } catch (error) {
      throw error instanceof TypeError ? badAnswer('text that is no UTF-8', error) : error;
    }
    const taken = records;
    records = [];
    return taken;
  };
  const write = (text: string) => {
    // Blank lines before the document are no XML, but servers in PHP send them.
    const rest = hasBegun ? text : text.trimStart();
    hasBegun ||= rest !== '';
    parser.write(rest);
  };
  return {
    take: (text: () => string): readonly XmlElement[] => guarded(() => write(text())),
    end: (rest: () => string): readonly XmlElement[] =>
      guarded(() => {
        write(rest());
        if (!hasBegun) throw badAnswer('no XML');
        parser.close();
      }),
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
