import { createResource, type JSX, Match, Switch } from 'solid-js';
import { itemWords, language, t } from '../i18n/i18n.ts';
import { SelectField, SwitchField, TextArea, TextField } from '../pages/fields.tsx';
import { type Item, isSecret } from './item-values.ts';

const [words] = createResource(language, itemWords);

/** What an item is called: in words where the page has some, else by its own name. */
export function labelOf(name: string): string {
  const known = words.state === 'ready' || words.state === 'refreshing' ? words.latest[name]?.[0] : undefined;
  if (known !== undefined) return known;
  const text = name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What an item is for; where the page has no words for it in the viewer's language, in the server's. */
export function helpOf(item: Pick<Item, 'name' | 'help'>): string {
  const known = words.state === 'ready' || words.state === 'refreshing' ? words.latest[item.name]?.[1] : undefined;
  return known ?? item.help;
}

const MAX_ROWS = 12;

/** The field for an item of a driver's form, or for a setting. */
export function ItemField(props: {
  item: Item;
  value: string | boolean;
  onInput: (value: string | boolean) => void;
  isDisabled?: boolean;
}): JSX.Element {
  const frame = () => ({ label: labelOf(props.item.name), hint: helpOf(props.item) });
  const text = () => String(props.value);
  // As it begins: a field that grows as one writes moves what is below it.
  const rows = Math.min(Math.max(String(props.value).split('\n').length + 1, 3), MAX_ROWS);
  const options = () =>
    (props.item.required ? [] : ['']).concat(props.item.options.split(',').filter(Boolean)).map((value) => {
      const label = value === '' ? t('asUsual') : labelOf(value);
      return [value, label] as const;
    });
  return (
    <Switch
      fallback={
        <TextField
          {...frame()}
          type={props.item.type === 'number' ? 'number' : isSecret(props.item) ? 'password' : 'text'}
          isRequired={props.item.required}
          isDisabled={props.isDisabled}
          autocomplete={isSecret(props.item) ? 'new-password' : 'off'}
          value={text()}
          onInput={props.onInput}
        />
      }
    >
      <Match when={props.item.type === 'bool'}>
        <SwitchField
          {...frame()}
          isOn={props.value === true || props.value === 'true'}
          isDisabled={props.isDisabled}
          onChange={props.onInput}
        />
      </Match>
      <Match when={props.item.type === 'select'}>
        <SelectField {...frame()} value={text()} options={options()} onChange={props.onInput} />
      </Match>
      <Match when={props.item.type === 'text'}>
        <TextArea {...frame()} isCode isRequired={props.item.required} rows={rows} value={text()} onInput={props.onInput} />
      </Match>
    </Switch>
  );
}
