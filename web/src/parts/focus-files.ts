/** Puts the keys where the files are: in their list, or in what stands in its place. */
export function focusFiles(): void {
  const list = document.querySelector<HTMLElement>('[role="grid"]') ?? document.querySelector<HTMLElement>('.file-main');
  list?.focus({ preventScroll: true });
}
