/**
 * What all leaders of an election write, one after another, in one guarded document. It only ever grows: an entry that a
 * stale leader gets in stays where it is, for the checker to find.
 */

/** One write. */
export interface Entry {
  readonly term: number;
  /** The process that wrote it: unlike a candidateId, never shared. */
  readonly worker: string;
  /** Counts the writes of this worker in this term, from 1. */
  readonly sequence: number;
}

/** Successive entries of one worker in one term: those with the sequences `from` to `to`. */
export interface Run {
  readonly term: number;
  readonly worker: string;
  readonly from: number;
  readonly to: number;
}

/** The entries of the document, in the order of writing. */
export function runsOf(content: string): readonly Run[] {
  return content === "" ? [] : (JSON.parse(content) as Run[]);
}

/** The document with one entry more; the same, if the entry is its last one already: an SDK may try twice. */
export function append(content: string, { term, worker, sequence }: Entry): string {
  const runs = runsOf(content);
  const last = runs.at(-1);
  const goesOn = last?.term === term && last.worker === worker;
  if (goesOn && last.to === sequence) return content;
  if (goesOn && last.to === sequence - 1) return JSON.stringify([...runs.slice(0, -1), { ...last, to: sequence }]);
  return JSON.stringify([...runs, { term, worker, from: sequence, to: sequence }]);
}
