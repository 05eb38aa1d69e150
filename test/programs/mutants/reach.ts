/** The blocks that a test file enters; they have the numbers of `tellBlocks`. */
export interface Reached {
  /** How many blocks in all, each as often as it was entered. */
  readonly entries: number;
  readonly always: readonly number[];
  readonly byTest: ReadonlyArray<readonly [name: string, blocks: readonly number[]]>;
}

/** Bounds of a test file. */
export interface TestLimits {
  /** Of each test. */
  readonly timeoutMs: number;
  /** The worker ends when blocks are entered more often than this. */
  readonly mostEntries: number;
}

/** The settings of a worker. */
export interface WorkerOrders {
  /** The file into which it writes what was reached; none: it does not look. */
  readonly report: string | undefined;
  /** By test file; none by default. */
  readonly limits: Readonly<Record<string, TestLimits>>;
}

declare module "vitest" {
  interface ProvidedContext {
    mutants: WorkerOrders;
  }
}
