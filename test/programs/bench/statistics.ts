/** The summary of a number of samples. */
export interface Summary {
  readonly n: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws {RangeError} if there are no samples. */
export function summarize(samples: readonly number[]): Summary {
  return { n: samples.length, median: median(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

/** Returns the middle sample, or the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  if (samples.length === 0) throw new RangeError("There is no median of no samples.");
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

/**
 * Returns how many times as long `ours` took as `base`, which was measured in turns with it. There is one ratio of medians for
 * each block of `blockSize` turns. So a pause of the machine spoils one block and not the whole range. An incomplete block is
 * left out.
 */
export function blockRatios(ours: readonly number[], base: readonly number[], blockSize: number): number[] {
  const blocks = Math.floor(Math.min(ours.length, base.length) / blockSize);
  return Array.from({ length: blocks }, (_, block) => {
    const [from, to] = [block * blockSize, (block + 1) * blockSize];
    return median(ours.slice(from, to)) / median(base.slice(from, to));
  });
}
