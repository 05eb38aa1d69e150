import { describe } from "vitest";
import { coldTakeover } from "./cold-takeover.ts";
import { lateWrite } from "./late-write.ts";
import { overrun } from "./overrun.ts";
import { StoreStage } from "./store-stage.ts";

/** What on-store.ts asks of the others. */
describe.concurrent("azure", async () => {
  const stage = await StoreStage.of("azure");
  coldTakeover(stage);
  lateWrite(stage);
  overrun(stage);
});
