/**
 * The entries that all leaders of an election write, one after another, in one guarded document. It only grows: an entry of a
 * stale leader stays where it is, so that the checker finds it.
 */

/** One write. */
export interface Entry {
  readonly term: number;
  /** The process that wrote it. Unlike a candidateId, this name is unique. */
  readonly worker: string;
  /** Counts the writes of this worker in this term, from 1. */
  readonly sequence: number;
}

/** Successive entries of one worker in one term, with the sequences `from` to `to`. */
export interface Run {
  readonly term: number;
  readonly worker: string;
  readonly from: number;
  readonly to: number;
}

/** Returns the entries of the document, in the order of writing. */
export function runsOf(content: string): readonly Run[] {
  return content === "" ? [] : (JSON.parse(content) as Run[]);
}

/**
 * Returns the document with one more entry. If its last entry is this one already, it does not change, because an SDK may retry.
 */
export function append(content: string, { term, worker, sequence }: Entry): string {
  const runs = runsOf(content);
  const last = runs.at(-1);
  const goesOn = last?.term === term && last.worker === worker;
  if (goesOn && last.to === sequence) return content;
  if (goesOn && last.to === sequence - 1) return JSON.stringify([...runs.slice(0, -1), { ...last, to: sequence }]);
  return JSON.stringify([...runs, { term, worker, from: sequence, to: sequence }]);
}
