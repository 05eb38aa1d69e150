import type { Report } from "../src/report.ts";

/** Returns the report of a member in its usual state. */
export function report(change: Partial<Report> = {}): Report {
  return {
    id: "12345678",
    name: "host-1",
    applied: 7,
    known: 7,
    draining: new Set(),
    ended: [],
    stopping: false,
    steady: true,
    fenced: false,
    list: "n8",
    weight: 1,
    maxShards: Infinity,
    priority: 0,
    ...change,
  };
}
