import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";
import type { Figures } from "./figures.ts";

/** The settings of a storm. */
export interface StormOptions {
  readonly store: StoreName;
  /** A service that runs. */
  readonly service: StoreSettings;
  /** Of all that is left to chance in the plan. */
  readonly seed: number;
}

/** The result of a storm. */
export interface Verdict {
  /** In words; nothing at all, if all is well. */
  readonly problems: readonly string[];
  readonly figures: Figures;
  /** For people. */
  readonly history: string;
}
