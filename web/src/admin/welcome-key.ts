/** What this browser remembers of the first steps: they were `shown` and may not all be done, or they are `done`, or were put away. */
export const WELCOME_KEY = 'wharf.welcome';
