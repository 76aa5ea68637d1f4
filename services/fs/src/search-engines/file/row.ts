import type { EntryName, VirtualPath } from '@wharf/paths';

/** A row of the file as an array of its columns. The file is ours alone: what it holds was checked when it was written. */
export type Row = readonly unknown[];

export const numberAt = (row: Row, column: number): number => Number(row[column]);
export const textAt = (row: Row, column: number): string => String(row[column]);
export const pathAt = (row: Row, column: number): VirtualPath => textAt(row, column) as VirtualPath;
export const nameAt = (row: Row, column: number): EntryName => textAt(row, column) as EntryName;
