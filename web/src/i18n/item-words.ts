/** What items of drivers and settings are called and are for, by their names. */
export type ItemWords = Readonly<Record<string, readonly [label: string, help?: string]>>;
