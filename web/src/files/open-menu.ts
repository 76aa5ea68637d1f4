/** Opens the context menu as a click with the other button would. */
export function openMenuAt(element: Element): void {
  const { left, bottom } = element.getBoundingClientRect();
  element.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true, clientX: left + 48, clientY: bottom - 8 }));
}
