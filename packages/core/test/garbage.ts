import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage, and lets what was registered for it run. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  // Weak references and finished promises go with the second collection.
  for (let pass = 0; pass < 3; pass += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    gc();
  }
}
