import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage, and runs the callbacks that were registered for it. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  // Weak references and settled promises are collected only in the second pass.
  for (let pass = 0; pass < 3; pass += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    gc();
  }
}
