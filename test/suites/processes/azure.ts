import { describe } from "vitest";
import { lateWrite } from "./late-write.ts";
import { overrun } from "./overrun.ts";
import { StoreStage } from "./store-stage.ts";
import { TIME_LIMIT_MS } from "./test.ts";

/** The tests that on-store.ts registers for the other stores. */
describe.concurrent("azure", { timeout: TIME_LIMIT_MS }, async () => {
  const stage = await StoreStage.of("azure");
  lateWrite(stage);
  overrun(stage);
});
