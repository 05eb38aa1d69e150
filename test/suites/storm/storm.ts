import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";
import type { Figures } from "./figures.ts";

/** What a storm is made from. */
export interface StormOptions {
  readonly store: StoreName;
  /** A service that runs. */
  readonly service: StoreSettings;
  /** Of all that is left to chance in the plan. */
  readonly seed: number;
}

/** What has come of one. */
export interface Verdict {
  /** In words; nothing at all, if all is well. */
  readonly problems: readonly string[];
  readonly figures: Figures;
  /** For people. */
  readonly history: string;
}
