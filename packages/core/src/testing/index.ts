import "../node-version.ts";

export { kindOf, withBars, type Bar } from "../records/bars.ts";
export * from "./fake-leadership.ts";
export * from "./process-clock.ts";
export * from "./seeded-random.ts";
export * from "./simulated-network.ts";
export * from "./simulated-record-service.ts";
export * from "./test-lease-store.ts";
export * from "./virtual-clock.ts";
