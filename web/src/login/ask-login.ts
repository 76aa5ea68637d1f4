import { createSignal } from 'solid-js';

const [isAsked, setAsked] = createSignal(false);

export { isAsked as isLoginAsked };

/** A guest wants to log in. */
export const askLogin = (): void => void setAsked(true);
export const dropLogin = (): void => void setAsked(false);
