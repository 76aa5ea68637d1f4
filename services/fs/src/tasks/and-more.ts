/** What a task says of several: the first of them, and how many there are beside it. */
export function andMore(first: string, all: number): string {
  return all === 1 ? first : `${first} and ${all - 1} more`;
}
