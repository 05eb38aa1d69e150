import type { StoreKind } from "../stores/stores.ts";
import type { MishapKind } from "./mishap.ts";

/** All watches stand still without a word, or lose the history that they go on from. */
export interface WatchTrouble {
  readonly kind: "watch-trouble";
  readonly how: "stalls" | "is compacted" | "goes silent";
}

/** The stores of records that push. Their watches go silent for good: until a standby begins them anew. */
const PUSHING: ReadonlySet<StoreKind> = new Set<StoreKind>(["records with a push", "records with a clock"]);

export const watchTrouble: MishapKind<WatchTrouble> = {
  share: 1,
  fits: ({ store }) => store === "etcd" || PUSHING.has(store),
  draw: (random, { store }) => ({
    kind: "watch-trouble",
    how: PUSHING.has(store) ? "goes silent" : random.pick(["stalls", "is compacted"]),
  }),
  befall: ({ how }, world) => {
    world.note("service", `every watch ${how}`);
    if (how === "stalls") world.store.faults?.stall();
    else if (how === "is compacted") world.store.faults?.compact();
    else for (const link of world.links) link.silence();
  },
};
