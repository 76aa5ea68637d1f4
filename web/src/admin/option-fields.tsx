import { createMemo, createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { explain } from '../files/explain.ts';
import { t } from '../i18n/i18n.ts';
import { SelectField, SwitchField, TextArea, TextField } from '../pages/fields.tsx';
import { settled } from '../pages/settled.ts';
import { labelOf } from './item-field.tsx';
import type { Values } from './item-values.ts';
import { KeptSecret } from './kept-secret.tsx';
import { asKept, hasOthers, labelOfChoice, type Option, valueIn } from './named-options.ts';

/** What the options of a form go by. */
interface OptionsForm {
  readonly driver: string;
  /** The items that they depend on, the first being what is chosen; empty: there are none. */
  readonly by: readonly string[];
  /** The items that keep them, each as one text. */
  readonly in: readonly string[];
  readonly values: () => Values;
  readonly addition: () => string;
}

interface Found {
  /** What was chosen when it was asked for. */
  readonly chosen: string;
  readonly options: readonly Option[];
}

/** What the server knows of the options of a form: asked anew whenever something is chosen that they depend on. */
export function createOptions({ driver, by, in: kept, values, addition }: OptionsForm) {
  const [found, setFound] = createSignal<Found>();
  const textOf = (item: string) => String(values()[item] ?? '');
  const chosen = () => textOf(by[0] ?? '');
  const valueFor = (option: Option) => (option.name === option.item ? textOf(option.item) : valueIn(textOf(option.item), option));
  const state = createMemo(() => {
    if (by.length === 0) return undefined;
    const shaping = found()?.options.filter(({ name, shapes }) => shapes && !by.includes(name)) ?? [];
    return JSON.stringify([by.map(textOf), shaping.map(valueFor).filter(Boolean)]);
  });
  const [answer, { refetch }] = createResource(settled(state), async (asked) => {
    // What comes late is of another choice.
    const keep = (next: Found | undefined) => void (state() === asked && setFound(next));
    try {
      keep({ chosen: chosen(), options: await call('/api/admin/driver/options', { driver, addition: addition() }) });
    } catch (error) {
      keep(undefined);
      throw error;
    }
  });
  /** Those of what is chosen now. */
  const options = createMemo(() => {
    const { chosen: then, options: all } = found() ?? { chosen: '', options: [] };
    return then === chosen() ? all : all.filter(({ name }) => name === by[0]);
  });
  const lines = createMemo(() => options().flatMap((option) => (option.name === option.item ? [] : [asKept(option, kept, textOf)])));
  return {
    chosen,
    valueFor,
    lines,
    /** Of an item that the options are about; undefined: nothing is known of it. */
    about: (item: string) => options().find(({ name }) => name === item),
    /** The items that are of use with what is chosen. */
    items: createMemo(() => options().flatMap(({ name, item }) => (name === item && !by.includes(name) ? [name] : []))),
    /** Whether an item has to be written by hand: nothing is known of the options, or it has some that no field shows. */
    isByHand: (item: string) =>
      !kept.includes(item) ||
      !found() ||
      hasOthers(
        textOf(item),
        lines().filter((option) => option.item === item),
      ),
    isLoading: () => answer.loading,
    problem: () => (answer.state === 'errored' ? explain(answer.error) : ''),
    refetch: () => void refetch(),
  };
}

type Options = ReturnType<typeof createOptions>;

/** The fields of the options of what is chosen, the common ones first. */
export function OptionFields(props: {
  of: Options;
  /** Whether the saved value of a secret stays where nothing is entered. */
  isKept: (option: Option) => boolean;
  onInput: (option: Option, value: string) => void;
}): JSX.Element {
  // By names, so that fields stay what they are when the server is asked again.
  const names = (isAdvanced: boolean) => props.of.lines().flatMap(({ name, advanced }) => (advanced === isAdvanced ? [name] : []));
  const field = (name: string) => {
    const first = props.of.lines().find((option) => option.name === name) as Option;
    const option = createMemo((before: Option) => props.of.lines().find((each) => each.name === name) ?? before, first);
    const plain = () => (
      <OptionField option={option()} value={props.of.valueFor(option())} onInput={(value) => props.onInput(option(), value)} />
    );
    return (
      <Show when={props.isKept(first)} fallback={plain()}>
        <KeptSecret label={labelOf(name)} onReplace={() => props.onInput(option(), '')}>
          {plain()}
        </KeptSecret>
      </Show>
    );
  };
  return (
    <div class="options">
      <Show when={props.of.isLoading() && props.of.lines().length === 0}>
        <p class="note" role="status">
          {t('loading')}
        </p>
      </Show>
      <Show when={props.of.problem()}>
        {(why) => (
          <div role="alert">
            <p class="problem">{why()}</p>
            <p class="note">{t('optionsUnknown')}</p>
            <button type="button" class="button" onClick={() => props.of.refetch()}>
              {t('tryAgain')}
            </button>
          </div>
        )}
      </Show>
      <For each={names(false)}>{field}</For>
      <Show when={names(true).length > 0}>
        <details class="further">
          <summary>{t('moreOptionsOf', { name: props.of.chosen() })}</summary>
          <div class="stack">
            <For each={names(true)}>{field}</For>
          </div>
        </details>
      </Show>
    </div>
  );
}

/** Stands for whatever is in no list. No value is written so. */
const OTHER = ':other';

/** What is chosen from a list, or written where the list has not all there is. */
export function ChoiceField(props: {
  label: string;
  hint?: string | undefined;
  option: Option;
  value: string;
  onInput: (value: string) => void;
}): JSX.Element {
  const [isOther, setOther] = createSignal(false);
  const isListed = () => props.value === '' || props.option.choices.some(({ value }) => value === props.value);
  const isWritten = () => !props.option.exclusive && (isOther() || !isListed());
  const none = () => {
    if (props.option.required) return t('chooseOne');
    return props.option.default === '' ? t('asUsual') : t('asUsualNamed', { value: props.option.default });
  };
  const listed = createMemo(() => [
    ['', none()] as const,
    ...props.option.choices.map((choice) => [choice.value, labelOfChoice(choice)] as const),
    ...(props.option.exclusive ? [] : [[OTHER, t('anotherValue')] as const]),
  ]);
  return (
    <>
      <SelectField
        label={props.label}
        hint={props.hint}
        value={isWritten() ? OTHER : props.value}
        options={listed()}
        onChange={(value) => {
          setOther(value === OTHER);
          props.onInput(value === OTHER ? '' : value);
        }}
      />
      <Show when={isWritten()}>
        <TextField label={t('anotherValueOf', { name: props.label })} value={props.value} onInput={props.onInput} />
      </Show>
    </>
  );
}

function OptionField(props: { option: Option; value: string; onInput: (value: string) => void }): JSX.Element {
  const frame = () => ({ label: labelOf(props.option.name), hint: props.option.help.replaceAll(/\n\s*\n/g, '\n') || undefined });
  const isOn = (value: string) => (value === '' ? props.option.default : value) === 'true';
  return (
    <Show
      when={props.option.type === 'bool'}
      fallback={
        <Show
          when={props.option.choices.length > 0}
          fallback={
            <Show
              when={props.option.type === 'text'}
              fallback={
                <TextField
                  {...frame()}
                  type={props.option.type === 'number' ? 'number' : props.option.secret ? 'password' : 'text'}
                  isRequired={props.option.required}
                  autocomplete={props.option.secret ? 'new-password' : 'off'}
                  placeholder={props.option.default}
                  value={props.value}
                  onInput={props.onInput}
                />
              }
            >
              <TextArea {...frame()} isCode value={props.value} onInput={props.onInput} />
            </Show>
          }
        >
          <ChoiceField {...frame()} option={props.option} value={props.value} onInput={props.onInput} />
        </Show>
      }
    >
      <SwitchField
        {...frame()}
        isOn={isOn(props.value)}
        onChange={(on) => props.onInput(on === (props.option.default === 'true') ? '' : String(on))}
      />
    </Show>
  );
}
