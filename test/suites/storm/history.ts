import type { DeliveryLog, FailedWrite } from "./witness.ts";

/** Prints a line for each delivery, for people: milliseconds since the first, and since each was sent. */
export function printHistory(deliveries: readonly DeliveryLog[], failedWrites: readonly FailedWrite[]): string {
  const inOrder = deliveries.toSorted((one, other) => one.sentMs - other.sentMs);
  const originMs = inOrder[0]?.sentMs ?? 0;
  return [
    ...inOrder.map((log) => lineOf(log, originMs)),
    ...failedWrites.map(({ election, atMs, outcome }) => [at(atMs - originMs), "a write failed", election, outcome].join("  ")),
  ].join("\n");
}

function lineOf(log: DeliveryLog, originMs: number): string {
  const { id, election, worker, sentMs, acquired, started, validUntilMs, returnedMs, released, settled, diedMs } = log;
  const since = (what: string, ms: number | undefined): string[] =>
    ms === undefined ? [] : [`${what} +${(ms - sentMs).toFixed(1)}`];
  return [
    at(sentMs - originMs),
    worker,
    id,
    election,
    ...(acquired ? [...since("granted", acquired.grantedMs), ...since(`term ${acquired.term}`, acquired.atMs)] : []),
    ...since("started", started?.atMs),
    ...since("valid until", validUntilMs),
    ...since("returned", returnedMs),
    ...since(released?.ok === false ? "not released" : "released", released?.atMs),
    ...since(`${settled?.outcome} ${settled?.error ?? ""}`.trim(), settled?.atMs),
    ...since("died", diedMs),
  ].join("  ");
}

function at(ms: number): string {
  return ms.toFixed(1).padStart(9);
}
