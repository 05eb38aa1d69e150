import { UnsupportedError } from "../reporting/errors.ts";
import type { Leadership } from "../election/leadership.ts";
import type { LeaseStore } from "../store/lease-store.ts";

/** The store's own `fence` without its first argument, the leadership. `undefined` where the store has none. */
export type FenceOf<Store> = Store extends { fence: (leadership: never, ...rest: infer Rest) => infer Result }
  ? (...rest: Rest) => Result
  : undefined;

/** Returns the fence of a leadership of `store`. It takes the further arguments of the store's own `fence`. */
export function fenceOf<Store>(leadership: Leadership, store: LeaseStore, what: "occurrences" | "elections"): FenceOf<Store> {
  const { fence } = store as { fence?: (leadership: Leadership, ...rest: unknown[]) => unknown };
  const bound = (...rest: unknown[]): unknown => {
    if (fence) return fence.call(store, leadership, ...rest);
    throw new UnsupportedError(`${store.name} has no fence for ${what}.`, { election: leadership.election });
  };
  return bound as FenceOf<Store>;
}
