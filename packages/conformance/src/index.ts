export type { CaseInfo } from "./case.ts";
export type { Need } from "./need.ts";
export type { CaseResult } from "./case-result.ts";
export { cases } from "./cases.ts";
export { conformance } from "./conformance.ts";
export type { Runner } from "./runner.ts";
export type {
  Faults,
  GuardedText,
  HeldRequests,
  TestEnvironment,
  RequestFacts,
  StoreUnderTest,
  UnreliableConnection,
} from "./store-under-test.ts";
export { renderTable, type TableOptions } from "./table.ts";
