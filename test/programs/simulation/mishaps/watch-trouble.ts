import type { MishapKind } from "./mishap.ts";

/** All watches stand still without a word, or lose the history that they go on from. */
export interface WatchTrouble {
  readonly kind: "watch-trouble";
  readonly how: "stalls" | "is compacted";
}

export const watchTrouble: MishapKind<WatchTrouble> = {
  share: 1,
  fits: ({ store }) => store === "etcd",
  draw: (random) => ({ kind: "watch-trouble", how: random.pick(["stalls", "is compacted"]) }),
  befall: ({ how }, world) => {
    world.note("service", `every watch ${how}`);
    if (how === "stalls") world.store.faults?.stall();
    else world.store.faults?.compact();
  },
};
