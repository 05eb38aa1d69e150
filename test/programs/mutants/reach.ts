/** The name under which a process has what is told of every block that is entered. */
export const REACH = "__leaseholdReach";
/** More blocks than a file has: the numbers of each file begin with a multiple of it, which stands for the loading of that file. */
export const BLOCKS_OF_A_FILE = 10_000;

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
  /** By test file: into which files the worker writes what was reached, and the processes that tests start. None: they do not look. */
  readonly reports: Readonly<Record<string, TestReport>>;
  /** By test file; none by default. */
  readonly limits: Readonly<Record<string, TestLimits>>;
  /** What processes that tests start load first. */
  readonly preload: string;
}

/** Files. */
export interface TestReport {
  readonly byTests: string;
  readonly byChildren: string;
}

declare module "vitest" {
  interface ProvidedContext {
    mutants: WorkerOrders;
  }
}
