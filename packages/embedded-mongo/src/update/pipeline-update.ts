import { compileDocumentStage, readStage } from '../aggregate/document-stages.ts';
import type { Doc, Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import type { UpdateContext } from './update-context.ts';

/** Stages that an update may consist of (https://www.mongodb.com/docs/manual/tutorial/update-documents-with-aggregation-pipeline/). */
const STAGES: ReadonlySet<string> = new Set(['$set', '$addFields', '$unset', '$project', '$replaceWith', '$replaceRoot']);

/** @throws CommandError InvalidOptions for a stage that an update does not take, and the stages' own. */
export function compilePipelineUpdate(pipeline: readonly Value[]): (doc: Doc, context: UpdateContext) => Doc {
  const stages = pipeline.map((stage) => {
    const { name, operand } = readStage(stage);
    const compiled = STAGES.has(name) ? compileDocumentStage(name, operand) : undefined;
    if (!compiled) throw new CommandError('InvalidOptions', `${name} is not allowed to be used within an update`);
    return compiled;
  });
  return (doc, { now }) => stages.reduce((current, stage) => stage(current, now), doc);
}
