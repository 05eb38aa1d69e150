import type { StoreKind } from "../stores/stores.ts";
import type { MishapKind } from "../faults/fault.ts";

/** All watches stop without an error, or lose the history from which they continue. */
export interface WatchTrouble {
  readonly kind: "watch-trouble";
  readonly how: "stalls" | "is compacted" | "goes silent";
}

/** The stores of records that push. Their watches stay silent until a standby begins new ones. */
const PUSHING: ReadonlySet<StoreKind> = new Set<StoreKind>([
  "records with a push",
  "records with a clock",
  "redis",
  "kubernetes",
]);

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
