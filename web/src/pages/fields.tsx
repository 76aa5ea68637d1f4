import { Eye, EyeOff } from 'lucide';
import { createSignal, createUniqueId, For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { IconButton } from '../parts/icon-button.tsx';

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with what was given. */
  readonly problem?: string | undefined;
}

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number' | 'datetime-local' | undefined;
  readonly isRequired?: boolean | undefined;
  readonly isDisabled?: boolean | undefined;
  readonly isCode?: boolean | undefined;
  readonly placeholder?: string | undefined;
  readonly autocomplete?: string | undefined;
  readonly inputmode?: 'numeric' | undefined;
}

/** The label of a field, what it is for, and what is wrong with it. */
function Frame(props: FieldProps & { id: string; isRequired?: boolean | undefined; children: JSX.Element }): JSX.Element {
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      {props.children}
      <Show when={props.hint}>
        <p id={`${props.id}-hint`} class="note">
          {props.hint}
        </p>
      </Show>
      <Show when={props.problem}>
        <p id={`${props.id}-problem`} class="problem" role="alert">
          {props.problem}
        </p>
      </Show>
    </div>
  );
}

const described = (id: string, props: FieldProps) =>
  [props.hint ? `${id}-hint` : '', props.problem ? `${id}-problem` : ''].filter(Boolean).join(' ') || undefined;

/** One line; of type `password` it is hidden until it is asked for. */
export function TextField(props: TextFieldProps): JSX.Element {
  const id = createUniqueId();
  const [isShown, setShown] = createSignal(false);
  return (
    <Frame {...props} id={id}>
      <div class="field-line">
        <input
          id={id}
          class="input"
          classList={{ 'is-code': props.isCode ?? false }}
          type={props.type === 'password' && isShown() ? 'text' : (props.type ?? 'text')}
          step={props.type === 'number' ? 'any' : undefined}
          value={props.value}
          required={props.isRequired}
          disabled={props.isDisabled}
          placeholder={props.placeholder}
          autocomplete={props.autocomplete ?? 'off'}
          autocapitalize="none"
          spellcheck={false}
          inputmode={props.inputmode}
          aria-invalid={props.problem ? true : undefined}
          aria-describedby={described(id, props)}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
        <Show when={props.type === 'password'}>
          <IconButton
            icon={isShown() ? EyeOff : Eye}
            label={t(isShown() ? 'hideSecret' : 'showSecret')}
            onPress={() => setShown(!isShown())}
          />
        </Show>
      </div>
    </Frame>
  );
}

/** Several lines. */
export function TextArea(
  props: FieldProps & {
    value: string;
    onInput: (value: string) => void;
    rows?: number;
    placeholder?: string;
    isCode?: boolean;
    isRequired?: boolean;
  },
): JSX.Element {
  const id = createUniqueId();
  return (
    <Frame {...props} id={id}>
      <textarea
        id={id}
        class="input"
        classList={{ 'is-code': props.isCode ?? false }}
        rows={props.rows ?? 3}
        required={props.isRequired}
        placeholder={props.placeholder}
        spellcheck={false}
        aria-describedby={described(id, props)}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      >
        {props.value}
      </textarea>
    </Frame>
  );
}

/** One of a few. */
export function SelectField(
  props: FieldProps & { value: string; options: readonly (readonly [value: string, label: string])[]; onChange: (value: string) => void },
): JSX.Element {
  const id = createUniqueId();
  return (
    <Frame {...props} id={id}>
      <select id={id} class="input" aria-describedby={described(id, props)} onChange={(event) => props.onChange(event.currentTarget.value)}>
        <For each={props.options}>
          {([value, label]) => (
            <option value={value} selected={value === props.value}>
              {label}
            </option>
          )}
        </For>
      </select>
    </Frame>
  );
}

/** On or off, at once or with the form that it is in. */
export function SwitchField(
  props: FieldProps & { isOn: boolean; onChange: (isOn: boolean) => void; isDisabled?: boolean | undefined },
): JSX.Element {
  const id = createUniqueId();
  return (
    <div class="switch-field">
      <input
        id={id}
        type="checkbox"
        role="switch"
        class="switch"
        checked={props.isOn}
        aria-checked={props.isOn}
        disabled={props.isDisabled}
        aria-describedby={described(id, props)}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{props.label}</label>
        <Show when={props.hint}>
          <p id={`${id}-hint`} class="note">
            {props.hint}
          </p>
        </Show>
      </div>
    </div>
  );
}

/** One of several that do not exclude each other. */
export function CheckField(props: { label: string; hint?: string; isOn: boolean; onChange: (isOn: boolean) => void }): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={props.isOn} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      <span>
        {props.label}
        <Show when={props.hint}>
          <span class="note"> {props.hint}</span>
        </Show>
      </span>
    </label>
  );
}
