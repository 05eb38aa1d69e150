import type { LeaseStore } from "@leasehold/core";
import { every } from "@leasehold/schedulers/interval";

declare const store: LeaseStore;
declare function refreshRates(signal: AbortSignal): Promise<void>;

const refresh = every({ store, name: "refresh-rates", periodMs: 30_000 }, async ({ signal }) => {
  await refreshRates(signal);
});

export const jobs = [refresh];
