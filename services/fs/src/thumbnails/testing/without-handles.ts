import { closeSync, openSync } from 'node:fs';
import { AppError } from '@wharf/errors';
import { createPictureMaker } from '../picture-maker.ts';
import { pngOf } from './pictures.ts';

// A program of its own, to be started with few file handles. It says how five pictures at once fare when none is left, and one when they are back.
const maker = createPictureMaker();
const outcomeOf = async () => {
  try {
    await maker.make(pngOf(10, 10));
    return 'made';
  } catch (error) {
    return AppError.from(error).code;
  }
};
const taken = takeAll();
const without = await Promise.all(Array.from({ length: 5 }, outcomeOf));
for (const file of taken) closeSync(file);
const again = await outcomeOf();
maker.close();
process.stdout.write(JSON.stringify({ without, again }));

function takeAll(): number[] {
  const files: number[] = [];
  try {
    for (;;) files.push(openSync('/dev/null', 'r'));
  } catch {
    return files;
  }
}
