import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  LanguageDescription,
  type LanguageSupport,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language';
import { languages } from '@codemirror/language-data';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type JSX, onCleanup, onMount } from 'solid-js';

/** A line of more letters is no code, and colours would cost more than they tell. */
const MAX_COLOURED_LINE = 10_000;
/** The same of languages that are read by patterns, a line in one turn: some of these take the third power of its letters, CMake's eight minutes for 10,000. */
const MAX_PATTERN_LINE = 500;

const COLOURS = HighlightStyle.define([
  { tag: [tags.comment, tags.meta], color: 'var(--faint)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.self], color: 'var(--image)' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string), tags.inserted], color: 'var(--code)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.unit], color: 'var(--archive)' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.labelName], color: 'var(--accent)' },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: 'var(--audio)' },
  { tag: [tags.propertyName, tags.attributeName, tags.definition(tags.variableName)], color: 'var(--text)' },
  { tag: [tags.heading, tags.strong], fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.link, textDecoration: 'underline' },
  { tag: [tags.invalid, tags.deleted], color: 'var(--danger)' },
]);

const LOOK = EditorView.theme({
  '&': { height: '100%', background: 'var(--card)', color: 'var(--ink)', borderTop: '2px solid transparent' },
  // The caret tells too.
  '&.cm-focused': { outline: 'none', borderTopColor: 'var(--accent)' },
  '.cm-scroller': { font: '0.8125rem / 1.55 var(--mono)', overflow: 'auto' },
  '.cm-content': { padding: 'var(--s4) 0', caretColor: 'var(--ink)' },
  '.cm-gutters': { background: 'var(--card)', color: 'var(--faint)', borderInlineEnd: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'var(--hover)' },
  '.cm-cursor': { borderInlineStartColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--chosen)' },
  '.cm-matchingBracket, .cm-selectionMatch': { background: 'var(--chosen)' },
  '.cm-panels': { background: 'var(--raised)', color: 'var(--ink)' },
  '.cm-searchMatch': { background: 'color-mix(in srgb, var(--warn) 30%, transparent)' },
});

/** A text with its colours. It lies in a shadow, where its styles need no exception of the page's policy. */
export default function CodeField(props: {
  text: string;
  /** Of its file, for its language. */
  name: string;
  label: string;
  /** What was typed; absent: the text is only looked at. */
  onInput?: (text: string) => void;
}): JSX.Element {
  let host!: HTMLDivElement;
  onMount(() => {
    const root = host.attachShadow({ mode: 'open' });
    const language = new Compartment();
    const isEdited = props.onInput !== undefined;
    const view = new EditorView({
      root,
      parent: root as unknown as Element,
      doc: props.text,
      extensions: [
        isEdited ? editing((text) => props.onInput?.(text)) : EditorState.readOnly.of(true),
        lineNumbers(),
        foldGutter(),
        drawSelection(),
        bracketMatching(),
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of([...searchKeymap, ...defaultKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': props.label, ...(isEdited ? {} : { 'aria-readonly': 'true' }) }),
        LOOK,
        syntaxHighlighting(COLOURS),
        language.of([]),
      ],
    });
    if (isEdited) view.focus();
    const longest = longestLine(props.text);
    const found = longest > MAX_COLOURED_LINE ? null : LanguageDescription.matchFilename(languages, props.name);
    // Without its colours it is still the text.
    loaded(found).then(
      (support) => {
        if (!support || (support.language instanceof StreamLanguage && longest > MAX_PATTERN_LINE)) return;
        view.dispatch({ effects: language.reconfigure(support) });
      },
      () => undefined,
    );
    onCleanup(() => view.destroy());
  });
  return <div class="code-field" ref={host} />;
}

/** A language as it is loaded when it is needed. */
function loaded(found: LanguageDescription | null): Promise<LanguageSupport | undefined> {
  if (found?.name === 'Markdown') return import('./markdown-language.ts').then(({ boundedMarkdown }) => boundedMarkdown());
  return found ? found.load() : Promise.resolve(undefined);
}

function editing(onInput: (text: string) => void): Extension {
  return [
    history(),
    indentOnInput(),
    highlightActiveLine(),
    keymap.of([...historyKeymap, indentWithTab]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onInput(update.state.doc.toString());
    }),
  ];
}

/** In letters. */
function longestLine(text: string): number {
  let longest = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    longest = Math.max(longest, end - start);
    start = end + 1;
  }
  return longest;
}
