/** Something that can be chosen in an item of a driver's form, where what there is depends on other items, or on a program beside us. */
export interface DriverOption {
  /** That of an item: more about this item. */
  readonly name: string;
  /** The item that keeps it. One that is not called as the option has one `name = value` a line. */
  readonly item: string;
  /** `text` has several lines, with `\n` for their ends where it is kept in a line. */
  readonly type: 'string' | 'text' | 'number' | 'bool' | 'size' | 'duration';
  readonly help: string;
  /** As text; what counts where nothing is said. */
  readonly default: string;
  readonly choices: readonly OptionChoice[];
  /** Nothing but one of `choices` is taken. */
  readonly isExclusive: boolean;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  /** Few need it. */
  readonly isAdvanced: boolean;
  /** Which options there are depends on it. */
  readonly isShaping: boolean;
}

/** A value that an option may have, or often has. */
export interface OptionChoice {
  readonly value: string;
  /** Empty: the value says it. */
  readonly help: string;
}
