import { describe } from "vitest";
import { lateWrite } from "./late-write.ts";
import { overrun } from "./overrun.ts";
import { StoreStage } from "./store-stage.ts";
import { TIME_LIMIT_MS } from "./test.ts";

/** What on-store.ts asks of the others. */
describe.concurrent("azure", { timeout: TIME_LIMIT_MS }, async () => {
  const stage = await StoreStage.of("azure");
  lateWrite(stage);
  overrun(stage);
});
