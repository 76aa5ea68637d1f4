import { createPace } from '@wharf/pace';

/** A list like `items.map(make)`; others have their turn in between. Secrets of tens of thousands of records take a quarter of a second to open. */
export async function mapInTurns<Item, Made>(items: readonly Item[], make: (item: Item) => Made): Promise<Made[]> {
  const pace = createPace();
  const made: Made[] = [];
  for (const item of items) {
    await pace.step();
    made.push(make(item));
  }
  return made;
}
