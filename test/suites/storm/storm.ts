import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";
import type { Figures } from "./figures.ts";

/** The settings of a storm. */
export interface StormOptions {
  readonly store: StoreName;
  /** A running service. */
  readonly service: StoreSettings;
  /** The seed of all random choices in the plan. */
  readonly seed: number;
}

/** The result of a storm. */
export interface Verdict {
  /** The problems in words. Empty if there are none. */
  readonly problems: readonly string[];
  readonly figures: Figures;
  /** The history for people. */
  readonly history: string;
}
