import type { LeaseStore } from "@leasehold/core";
import { every } from "@leasehold/schedulers/interval";

declare const store: LeaseStore;
declare function refreshRates(signal: AbortSignal): Promise<void>;
declare function fetchRates(): Promise<void>;

const refresh = every({ store, name: "refresh-rates", periodMs: 30_000 }, async ({ signal }) => {
  await refreshRates(signal);
});

const rates = every(
  { store, name: "rates", periodMs: 60_000, catchUp: { atMost: 30, since: "2026-11-20T00:00:00Z" } },
  fetchRates,
);

export const jobs = [refresh, rates];
