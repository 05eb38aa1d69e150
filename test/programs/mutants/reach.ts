/** The global name of the function that gets every block that is entered. */
export const REACH = "__leaseholdReach";
/** More blocks than a file has. The numbers of each file begin with a multiple of it, which means the loading of that file. */
export const BLOCKS_OF_A_FILE = 10_000;

/** The blocks that a test file enters, by the numbers of `tellBlocks`. */
export interface Reached {
  /** The number of entries of all blocks, each counted as often as it was entered. */
  readonly entries: number;
  readonly always: readonly number[];
  readonly byTest: ReadonlyArray<readonly [name: string, blocks: readonly number[]]>;
}

/** Limits of a test file. */
export interface TestLimits {
  /** The time limit of each test. */
  readonly timeoutMs: number;
  /** The worker ends when blocks are entered more often than this. */
  readonly mostEntries: number;
}

/** The settings of a worker. */
export interface WorkerOrders {
  /**
   * The files for the reports of each test file: of the worker, and of processes that tests start. Without an entry nothing is
   * reported.
   */
  readonly reports: Readonly<Record<string, TestReport>>;
  /** The limits of each test file. None by default. */
  readonly limits: Readonly<Record<string, TestLimits>>;
  /** The program that processes of tests load first. */
  readonly preload: string;
}

/** The paths of the reports. */
export interface TestReport {
  readonly byTests: string;
  readonly byChildren: string;
}

declare module "vitest" {
  interface ProvidedContext {
    mutants: WorkerOrders;
  }
}
